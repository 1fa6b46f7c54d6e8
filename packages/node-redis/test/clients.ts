import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import * as redis6 from 'redis'
import * as redis4 from 'redis-4'
import * as redis5 from 'redis-5'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { NodeRedisConnection } from '../src/index.ts'

/** The options common to all clients that tests use. */
export interface ClientOptions {
  socket?: {
    host?: string
    port?: number
    reconnectStrategy?: false | number | (() => number)
    socketTimeout?: number
  }
  username?: string
  password?: string
  disableOfflineQueue?: boolean
  commandsQueueMaxLength?: number
  pingInterval?: number
  commandOptions?: object
  keyPrefix?: string
}

/** What tests use of a client beyond that. */
export interface TestClient extends NodeRedisConnection {
  connect(): Promise<unknown>
  ping(): Promise<unknown>
  once(event: string, listener: (...args: unknown[]) => void): unknown
  listenerCount(event: string): number
  eventNames(): (string | symbol)[]
  /** Missing in node-redis 4. */
  destroy?(): void
  disconnect(): Promise<unknown>
}

interface Version {
  readonly name: string
  create(options: ClientOptions): TestClient
}

export const newest: Version = {
  name: 'node-redis 6',
  create: (options) => redis6.createClient(options) as unknown as TestClient,
}

/** The versions that the adapter is made for: each of its claims holds with each of them. */
export const clients: readonly Version[] = [
  newest,
  {
    name: 'node-redis 6 with RESP2',
    create: (options) => redis6.createClient({ ...options, RESP: 2 }) as unknown as TestClient,
  },
  { name: 'node-redis 5', create: (options) => redis5.createClient(options) as unknown as TestClient },
  { name: 'node-redis 4', create: (options) => redis4.createClient(options) as unknown as TestClient },
]

/** `npm test` runs the claims over the newest version, the soak over all of them. */
export const soak: boolean = process.env['LEASEHOLD_SOAK'] === '1'
export const tested: readonly Version[] = soak ? clients : [newest]

/** Closes a client at once, whatever state it is in. */
export async function close(client: object): Promise<void> {
  const { destroy, disconnect } = client as { destroy?(): unknown; disconnect?(): unknown }
  const end = async (): Promise<unknown> => (destroy ?? disconnect)?.call(client)
  // Throws or rejects if the client is closed already.
  await end().catch(() => undefined)
}

/** For one suite: an empty server, a proxy in front of it for each test, and clients that connect through the proxy. */
export function behindProxy(create: Version['create']): {
  readonly redis: RedisServer
  readonly proxy: TcpProxy
  /** A client that begins to connect. */
  connect(options?: ClientOptions): TestClient
  /** A client that nobody has asked to connect. */
  idle(options?: ClientOptions): TestClient
  /** A client to whose errors nobody listens, and which nobody has asked to connect. */
  unwatched(options?: ClientOptions): TestClient
} {
  let redis: RedisServer
  let proxy: TcpProxy
  const open: TestClient[] = []
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  beforeEach(async () => {
    await redis.command('FLUSHALL')
    proxy = await startTcpProxy({ port: redis.port })
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await close(client)
    await proxy.stop()
  })
  function unwatched({ socket, ...options }: ClientOptions = {}): TestClient {
    const client = create({
      socket: { host: '127.0.0.1', port: proxy.port, reconnectStrategy: 20, ...socket } as ClientOptions['socket'],
      ...options,
    } as ClientOptions)
    open.push(client)
    return client
  }
  function idle(options?: ClientOptions): TestClient {
    const client = unwatched(options)
    client.on('error', () => undefined)
    return client
  }
  return {
    get redis() {
      return redis
    },
    get proxy() {
      return proxy
    },
    unwatched,
    idle,
    connect(options) {
      const client = idle(options)
      client.connect().catch(() => undefined)
      return client
    },
  }
}
