/** What a Worker gets at its module scope, to the extent that the tests use it. */
declare module 'cloudflare:workers' {
  export class DurableObject<Env = unknown> {
    constructor(state: never, env: Env)
  }
  export function waitUntil(task: Promise<unknown>): void
  export const env: {
    readonly GATEWAY_URL: string
    readonly GATEWAY_TOKEN: string
    /** All three, or none. */
    readonly BRIDGE_URL?: string
    readonly BRIDGE_TOKEN: string
    readonly BRIDGE_MODE: 'sse' | 'long-poll'
    /** Answers when the test lets the request continue; the path identifies the request. */
    readonly TEST: { fetch(url: string): Promise<Response> }
    /**
     * The Worker itself, called by a client that may leave: Miniflare does not report it when an HTTP client leaves.
     */
    readonly SELF: { fetch(url: string, init: { readonly signal: AbortSignal }): Promise<Response> }
    /** The object that renews leases. */
    readonly WATCHDOG: { getByName(name: string): object }
  }
}

/** The parts of Cloudflare's plugin for Vitest that the tests use. */
declare module 'cloudflare:test' {
  export interface ObjectState {
    readonly storage: {
      getAlarm(): Promise<number | null>
      /** Tests replace it. */
      setAlarm: (atMs: number) => Promise<void>
      deleteAlarm(): Promise<void>
      readonly sql: { exec(query: string, ...values: readonly unknown[]): { toArray(): Record<string, unknown>[] } }
    }
  }
  export function runInDurableObject<R>(
    stub: object,
    callback: (instance: object, state: ObjectState) => R | Promise<R>,
  ): Promise<R>
  export function runDurableObjectAlarm(stub: object): Promise<boolean>
  export function abortAllDurableObjects(): Promise<void>
}
