import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare, Response } from 'miniflare'
import { Gates } from './gates.ts'

export interface WorkerOptions {
  /** A file of `workers/`. */
  readonly entry: string
  /** Export conditions of the bundle; default: the Workers condition. */
  readonly conditions?: readonly string[]
  /** Modules to bundle in place of others: from the specifier to a file of `workers/`. */
  readonly instead?: Readonly<Record<string, string>>
  /** Compatibility flags in addition to those of the newest date. */
  readonly flags?: readonly string[]
  readonly gateway: { readonly url: string; readonly token: string }
  /** Default: none, so that waiters poll. */
  readonly bridge?: BridgeAccess
  /** Durable Objects: the class name by binding name. */
  readonly objects?: Readonly<Record<string, string>>
  /** A folder that keeps the objects' storage; default: the storage ends with the Worker. */
  readonly storage?: string
}

export interface BridgeAccess {
  readonly url: string
  readonly token: string
  readonly mode: 'sse' | 'long-poll'
}

/** A Worker in workerd, and its output. */
export interface Worker extends AsyncDisposable {
  /** For requests that bypass `ask`: from a separate client, which may leave. */
  readonly url: string
  readonly bundle: string
  readonly gates: Gates
  /** What the runtime or the Worker wrote to its log, and what it threw. */
  readonly complaints: readonly string[]
  ask(path: string, signal?: AbortSignal): Promise<Answer>
  /**
   * Sends a request over a separate connection, and resolves at the first byte of the answer, with a function that cuts
   * the connection.
   */
  connect(path: string): Promise<() => void>
  /**
   * Has an object hibernate now, as workerd does with one that got no event for 10 s: only its sockets stay. Blocks this
   * process until whatever the object waits for has come, but at most 5 s.
   */
  hibernate(className: string, name: string): Promise<void>
}

export interface Answer {
  readonly status: number
  /** The Worker's answer; text if it is not JSON. */
  readonly body: unknown
}

/** Bundles a Worker as its user would, and starts it. There is nothing of Node in it, nor any shim. */
export async function startWorker({
  entry,
  conditions,
  instead,
  flags,
  gateway,
  bridge,
  objects = {},
  storage,
}: WorkerOptions): Promise<Worker> {
  const script = await bundle(entry, conditions ?? ['workerd'], instead ?? {})
  const gates = new Gates()
  const complaints: string[] = []
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      name: 'itself',
      modules: true,
      script,
      compatibilityDate: '2026-11-02',
      compatibilityFlags: ['no_nodejs_compat', ...(flags ?? [])],
      bindings: {
        GATEWAY_URL: gateway.url,
        GATEWAY_TOKEN: gateway.token,
        ...(bridge && { BRIDGE_URL: bridge.url, BRIDGE_TOKEN: bridge.token, BRIDGE_MODE: bridge.mode }),
      },
      durableObjects: Object.fromEntries(
        Object.entries(objects).map(([name, className]) => [name, { className, useSQLite: true }]),
      ),
      ...(storage && { resourcePersistencePath: storage }),
      serviceBindings: {
        async TEST({ url }: { readonly url: string }) {
          await gates.pass(decodeURIComponent(new URL(url).pathname.slice(1)))
          return new Response()
        },
        SELF: 'itself',
      },
      cf: false,
      handleStructuredLogs: ({ level, message }) => complaints.push(`${level}: ${message}`),
      handleUncaughtError: (error) => complaints.push(`uncaught: ${error.message}`),
    }),
  )
  let url: string
  try {
    url = (await runtime.ready).origin
  } catch (error) {
    await runtime.dispose()
    throw error
  }
  return {
    url,
    bundle: script,
    gates,
    complaints,
    async ask(path, signal) {
      const response = await runtime.dispatchFetch(`http://worker.example${path}`, { ...(signal && { signal }) })
      const text = await response.text()
      return { status: response.status, body: response.ok ? JSON.parse(text) : text }
    },
    connect: (path) =>
      new Promise((resolve, reject) => {
        const request = get(new URL(path, url), { agent: false }, (answer) => {
          answer.on('error', () => undefined)
          answer.once('data', () => resolve(() => request.destroy()))
        })
        request.on('error', reject)
      }),
    hibernate: (className, name) =>
      runtime.unsafeEvictDurableObject('itself', className, { name, webSockets: 'hibernate' }),
    [Symbol.asyncDispose]: () => runtime.dispose(),
  }
}

async function bundle(
  entry: string,
  conditions: readonly string[],
  instead: Readonly<Record<string, string>>,
): Promise<string> {
  const file = (name: string): string => fileURLToPath(new URL(`workers/${name}`, import.meta.url))
  const options = {
    entryPoints: [file(entry)],
    bundle: true,
    write: false,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    conditions: [...conditions],
    external: ['cloudflare:workers'],
    alias: Object.fromEntries(Object.entries(instead).map(([specifier, name]) => [specifier, file(name)])),
  } satisfies BuildOptions
  const { outputFiles } = await build(options)
  return outputFiles[0]?.text ?? ''
}
