import { createLocker, type Locker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import type { Hono } from 'hono'
import { Redis } from 'ioredis'
import { listen } from '../src/bin/http-server.ts'
import { type BridgeEvent, type BridgeOptions, createBridge } from '../src/server/index.ts'

export interface TestStream {
  readonly response: Response
  /** The next event as `name data`, without comments; undefined at the end. */
  event(): Promise<string | undefined>
  close(): void
}

export const bridgeToken = 'test-token-9c2e-0123456789abcdef0123'

export interface TestBridge extends AsyncDisposable {
  readonly server: RedisServer
  /** The proxy between the bridge and Redis. */
  readonly network: TcpProxy
  /** The proxy between the clients and the bridge. */
  readonly clients: TcpProxy
  readonly url: string
  /** Where the bridge itself listens. */
  readonly port: number
  readonly app: Hono
  /** A locker over TCP, bypassing the bridge and `network`. */
  readonly locks: Locker
  readonly store: LeaseStore
  readonly events: BridgeEvent[]
  /** Sends a request with the token. */
  request(path: string, init?: RequestInit): Promise<Response>
  wait(key: string, since: string, more?: string): Promise<Response>
  /** Opens a stream; `close` leaves it as a client does. */
  stream(query: string, init?: RequestInit): Promise<TestStream>
  /** How many checks there were, by reason. */
  checks(): Readonly<Record<string, number>>
  /** The count that was last reported. */
  open(what: 'waits' | 'streams'): number
  /** Resolves when `count` are open. */
  opened(what: 'waits' | 'streams', count: number): Promise<void>
}

/** A bridge on a real Redis, over a real HTTP server, in this process. */
export async function startTestBridge(options: Partial<BridgeOptions> & LockerPart = {}): Promise<TestBridge> {
  const server = await startRedis()
  const network = await startTcpProxy({ port: server.port })
  const connection = { retryStrategy: () => 50, maxRetriesPerRequest: 0, enableOfflineQueue: true }
  const redis = new Redis(network.port, connection)
  const direct = new Redis(server.port, connection)
  for (const each of [redis, direct]) each.on('error', () => undefined)
  const events: BridgeEvent[] = []
  let changed = (): void => undefined
  const { lockPrefix, ...given } = options
  const prefix = given.prefix ?? 'lock:'
  const app = createBridge({
    store: ioredisStore(redis, { prefix }),
    subscriber: ioredisSubscriber(redis),
    auth: { tokens: [bridgeToken] },
    onEvent: (event) => {
      events.push(event)
      changed()
    },
    ...given,
  })
  const http = await listen(app, { host: '127.0.0.1', port: 0 })
  const clients = await startTcpProxy({ port: Number(new URL(http.url).port) })
  const store = ioredisStore(direct, { prefix: lockPrefix ?? prefix })
  const url = `http://127.0.0.1:${clients.port}`
  const open = (what: 'waits' | 'streams'): number => {
    const last = events.findLast((event) => event.type === what)
    return last && 'open' in last ? last.open : 0
  }
  const request = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${bridgeToken}`, ...init?.headers } })
  return {
    server,
    network,
    clients,
    url,
    port: Number(new URL(http.url).port),
    app,
    locks: createLocker({ store }),
    store,
    events,
    request,
    wait: (key, since, more = '') =>
      request(`/v1/wait?key=${encodeURIComponent(key)}&since=${encodeURIComponent(since)}${more}`),
    async stream(query, init) {
      const client = new AbortController()
      const response = await request(`/v1/events?${query}`, { ...init, signal: client.signal })
      return { response, event: eventReader(response), close: () => client.abort() }
    },
    checks() {
      const counts: Record<string, number> = {}
      for (const event of events) if (event.type === 'check') counts[event.reason] = (counts[event.reason] ?? 0) + 1
      return counts
    },
    open,
    opened: (what, count) =>
      new Promise((resolve) => {
        changed = () => {
          if (open(what) === count) resolve()
        }
        changed()
      }),
    async [Symbol.asyncDispose]() {
      await clients.stop()
      await http.close(0)
      redis.disconnect()
      direct.disconnect()
      await network.stop()
      await server.stop()
    },
  }
}

interface LockerPart {
  /** The real prefix of the locks, if the bridge checks another. */
  readonly lockPrefix?: string
}

/** Reads an event stream: its next event as `name data`, without comments. */
function eventReader(response: Response): () => Promise<string | undefined> {
  const lines = linesOf(response)
  return async () => {
    let event = ''
    for (let line = await lines(); line !== undefined; line = await lines()) {
      if (line.startsWith('event: ')) event = line.slice(7)
      if (line.startsWith('data: ')) return `${event} ${line.slice(6)}`
    }
    return undefined
  }
}

/** Returns a function that reads the stream's next non-empty line; undefined at its end. */
export function linesOf(response: Response): () => Promise<string | undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return async () => {
    for (;;) {
      const end = text.indexOf('\n')
      if (end >= 0) {
        const line = text.slice(0, end)
        text = text.slice(end + 1)
        if (line !== '') return line
        continue
      }
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done) return undefined
      text += value
    }
  }
}
