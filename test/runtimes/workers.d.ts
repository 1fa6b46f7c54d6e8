/** What a Worker gets at its module scope, as far as the tests use it. */
declare module 'cloudflare:workers' {
  export function waitUntil(task: Promise<unknown>): void
  export const env: {
    readonly GATEWAY_URL: string
    readonly GATEWAY_TOKEN: string
    /** All three, or none. */
    readonly BRIDGE_URL?: string
    readonly BRIDGE_TOKEN: string
    readonly BRIDGE_MODE: 'sse' | 'long-poll'
    /** Answers when the test lets the request go on, which is known to it by the path. */
    readonly TEST: { fetch(url: string): Promise<Response> }
    /** The Worker, as a client that may leave: of one over HTTP, Miniflare does not tell. */
    readonly SELF: { fetch(url: string, init: { readonly signal: AbortSignal }): Promise<Response> }
  }
}
