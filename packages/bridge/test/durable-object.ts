import { builtinModules } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { RedisServer } from '@leasehold/testkit/redis'
import { type BuildOptions, build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import { expect } from 'vitest'
import { bridgeToken, linesOf } from './bridge.ts'

export const workerFile: string = fileURLToPath(new URL('durable-object-worker.ts', import.meta.url))

export interface TestWorkerOptions {
  /** Default: the Worker of `workerFile`, bundled. */
  readonly script?: string
  readonly redisUrl?: string
  /** Further settings of the object. */
  readonly settings?: Readonly<Record<string, string | number | Readonly<Record<string, number>>>>
  /** Where a store of the Worker itself sends its commands. */
  readonly gateway?: { readonly url: string; readonly token: string }
}

export interface TestWorker extends AsyncDisposable {
  readonly url: string
  /** What the runtime or the Worker wrote to its log, and what it threw. */
  readonly complaints: readonly string[]
  /** Sends a request with the token. */
  get(path: string, headers?: Record<string, string>): Promise<Response>
  wait(key: string, since: string, more?: string): Promise<Response>
  /** Opens a stream; `heard` resolves at a line that begins with `line`, and rejects at the end of the stream. */
  stream(query: string): Promise<{ heard(line: string): Promise<void>; close(): void }>
  /** Resolves when `count` are open. */
  opened(what: 'waits' | 'streams', count: number): Promise<void>
}

/** A Worker with a Durable Object of the class `Bridge`, in workerd, behind a real HTTP server. */
export async function startTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { redisUrl, settings = {}, gateway } = options
  const complaints: string[] = []
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: options.script ?? (await bundle()),
      compatibilityDate: '2026-11-02',
      compatibilityFlags: ['nodejs_compat', 'enable_request_signal'],
      bindings: {
        BRIDGE_TOKEN: bridgeToken,
        SETTINGS: settings,
        ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
        ...(gateway && { GATEWAY: { ...gateway } }),
      },
      durableObjects: { BRIDGE: { className: 'Bridge', useSQLite: true } },
      host: '127.0.0.1',
      port: 0,
      cf: false,
      handleStructuredLogs: ({ level, message }) => complaints.push(`${level}: ${message}`),
      handleUncaughtError: (error) => complaints.push(`uncaught: ${error.message}`),
    }),
  )
  let url: string
  try {
    url = (await runtime.ready).href.replace(/\/$/, '')
  } catch (error) {
    await runtime.dispose()
    throw error
  }
  const get = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${bridgeToken}`, ...init?.headers } })
  return {
    url,
    complaints,
    get: (path, headers) => get(path, headers && { headers }),
    wait: (key, since, more = '') => get(`/v1/wait?key=${key}&since=${since}${more}`),
    async stream(query) {
      const client = new AbortController()
      const next = linesOf(await get(`/v1/events?${query}`, { signal: client.signal }))
      return {
        async heard(what) {
          for (let line = await next(); !line?.startsWith(what); line = await next()) {
            if (line === undefined) throw new Error(`The stream has ended before: ${what}`)
          }
        },
        close: () => client.abort(),
      }
    },
    opened: async (what, count) => {
      await expect.poll(async () => (await get('/test/open')).json()).toMatchObject({ [what]: count })
    },
    [Symbol.asyncDispose]: () => runtime.dispose(),
  }
}

/**
 * Bundles the Worker with nothing but esbuild. The Node modules that ioredis requires stay `require` calls, and an ES
 * module has `require` only if it creates one; wrangler and Cloudflare's Vite plugin do that on their own.
 */
async function bundle(): Promise<string> {
  const options = {
    entryPoints: [workerFile],
    bundle: true,
    write: false,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    conditions: ['workerd'],
    external: ['node:*', ...builtinModules],
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire('/');` },
  } satisfies BuildOptions
  const { outputFiles } = await build(options)
  return outputFiles[0]?.text ?? ''
}

/**
 * Creates a Redis user that may do what a bridge needs, and no more; resolves with the URL for connecting as that user.
 * Its password contains characters that a URL must encode.
 */
export async function bridgeUser(server: RedisServer, { db = 0 } = {}): Promise<string> {
  await server.command(
    'ACL',
    'SETUSER',
    'bridge',
    'on',
    '>p@ss:/word',
    '~lock:*',
    '&lock:release:*',
    '+@all',
    '-@dangerous',
  )
  return `redis://bridge:${encodeURIComponent('p@ss:/word')}@127.0.0.1:${server.port}/${db}`
}

/** The ids of the object's connections to Redis. */
export async function connectionsOf(server: RedisServer): Promise<readonly string[]> {
  const list = String(await server.command('CLIENT', 'LIST')).split('\n')
  return list.filter((line) => line.includes('user=bridge')).map((line) => line.split(' ')[0] as string)
}
