import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

/** The options common to all clients that tests use. */
export interface ClientOptions {
  port?: number
  username?: string
  password?: string
  lazyConnect?: boolean
  keyPrefix?: string
  stringNumbers?: boolean
  enableAutoPipelining?: boolean
  enableReadyCheck?: boolean
  autoResendUnfulfilledCommands?: boolean
  maxRetriesPerRequest?: number | null
  commandTimeout?: number
  socketTimeout?: number
  reconnectOnError?: () => boolean
  enableOfflineQueue?: boolean
  retryStrategy?: () => number | null
}

/** The clients that the adapter is made for: each of its claims holds with each of them. */
export const clients = [
  { name: 'ioredis 6', create: (options: ClientOptions) => new ioredis6.Redis(options) },
  { name: 'ioredis 6 with RESP3', create: (options: ClientOptions) => new ioredis6.Redis({ ...options, protocol: 3 }) },
  { name: 'ioredis 5', create: (options: ClientOptions) => new ioredis5.Redis(options) },
  { name: 'iovalkey', create: (options: ClientOptions) => new iovalkey.Redis(options) },
]

type Create = (typeof clients)[number]['create']

/** For one suite: an empty server, a proxy in front of it for each test, and clients that connect through the proxy. */
export function behindProxy(create: Create): {
  readonly redis: RedisServer
  readonly proxy: TcpProxy
  connect(options?: ClientOptions): ReturnType<Create>
  /** A client to whose errors nobody listens. */
  unwatched(options?: ClientOptions): ReturnType<Create>
} {
  let redis: RedisServer
  let proxy: TcpProxy
  const open: { disconnect(): void }[] = []
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  beforeEach(async () => {
    await redis.command('FLUSHALL')
    proxy = await startTcpProxy({ port: redis.port })
  })
  afterEach(async () => {
    for (const client of open.splice(0)) client.disconnect()
    await proxy.stop()
  })
  function unwatched(options: ClientOptions = {}): ReturnType<Create> {
    const client = create({ port: proxy.port, retryStrategy: () => 20, ...options })
    open.push(client)
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
    connect(options) {
      const client = unwatched(options)
      client.on('error', () => undefined)
      return client
    },
  }
}
