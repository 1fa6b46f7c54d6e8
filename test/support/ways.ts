import { createLocker, type Locker, type LockerOptions } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { ioredisStore } from '@leasehold/ioredis'
import type { RedisServer } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { quiet } from './quiet.ts'

/** How a locker reaches a Redis, as the default user or as another. */
export interface Way extends AsyncDisposable {
  readonly locks: Locker
  /** The number of HTTP requests sent; undefined for a way without HTTP. */
  readonly requests: number | undefined
}

/** A user of the server. */
export interface User {
  readonly username: string
  readonly password: string
}

export type OpenWay = (server: RedisServer, options?: Partial<LockerOptions>, user?: User) => Promise<Way>

async function overTcp(server: RedisServer, options: Partial<LockerOptions> = {}, user?: User): Promise<Way> {
  const client = quiet(new Redis({ port: server.port, ...user }))
  return { ...opened(ioredisStore(client), options, () => client.disconnect()), requests: undefined }
}

/** Through the gateway, which has the user's rights. */
async function overHttp(server: RedisServer, options: Partial<LockerOptions> = {}, user?: User): Promise<Way> {
  const credentials = user ? `${user.username}:${user.password}@` : ''
  const redis = ioredisGateway(`redis://${credentials}127.0.0.1:${server.port}`, { unansweredMs: 5_000 })
  const token = 'ways-token-0123456789abcdef-0123456789abcdef'
  const http = await listen(createGateway({ redis, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  let requests = 0
  const counting: typeof fetch = (...request) => {
    requests++
    return fetch(...request)
  }
  const store = fetchStore({ url: http.url, token, fetch: counting })
  const way = opened(store, options, async () => {
    await http.close(0)
    redis.close()
  })
  return {
    ...way,
    get requests() {
      return requests
    },
  }
}

function opened(store: LeaseStore, options: Partial<LockerOptions>, close: () => unknown): Omit<Way, 'requests'> {
  const locks = createLocker({ store, ...options })
  return {
    locks,
    async [Symbol.asyncDispose]() {
      await locks.close({ grace: 0 })
      await close()
    },
  }
}

/** Every claim about what a locker sends holds for both. */
export const ways: readonly (readonly [name: string, open: OpenWay])[] = [
  ['over ioredis', overTcp],
  ['over HTTP', overHttp],
]

/** How many scripts the server was asked to run, by text or by hash, whether or not the user may run them. */
export async function scriptCalls(server: RedisServer): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'))
  const counts = stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+).*rejected_calls=(\d+)/g)
  return [...counts].reduce((sum, [, ran, refused]) => sum + Number(ran) + Number(refused), 0)
}
