import { createLocker, type LockerOptions, poll } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { memoryStore } from '@leasehold/core/memory'
import { fifo } from '@leasehold/core/queue'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { nodeRedisNotifier, nodeRedisStore } from '@leasehold/node-redis'
import { fetchStore, upstashStore } from '@leasehold/upstash'
import type { Redis } from 'ioredis'
import { connectIoredis } from './connect-ioredis.ts'
import { connectNodeRedis } from './connect-node-redis.ts'
import { type Client, type Contestant, ttlMs as defaultTtlMs, type Held, type Locks, waitMs } from './contestant.ts'
import { gatewayToken, gatewayUrl } from './gateway.ts'

/**
 * The lock with a notifier: between processes a release wakes the next waiter, within a process the grant is handed
 * off.
 */
export const leasehold: Contestant = overIoredis('leasehold', (redis) => ({ notifier: ioredisNotifier(redis) }))

/** The same, in order of arrival across all processes: its waiters queue at the store. */
export const leaseholdFifo: Contestant = overIoredis('leasehold-fifo', (redis) => ({
  notifier: ioredisNotifier(redis),
  queue: fifo(),
}))

/** Without a notifier, with the default back-off. */
export const leaseholdAlone: Contestant = overIoredis('leasehold-no-notifier', () => ({}))

export const leaseholdPoll: Contestant = overIoredis('leasehold-poll-50', () => ({ strategy: poll({ every: '50ms' }) }))

/**
 * The textbook spin lock, in our own code: each waiter polls for itself, as if it were alone in its process. Shows what
 * the cost model counts, and what sharing a process saves.
 */
export const leaseholdSpin: Contestant = {
  ...leaseholdPoll,
  name: 'leasehold-poll-50-each',
  async connect(port) {
    const store = ioredisStore(await connectIoredis(port))
    return {
      acquire: (key) =>
        createLocker({ store, ttl: defaultTtlMs, wait: waitMs, strategy: poll({ every: '50ms' }) }).acquire(key),
    }
  },
}

/** Like `leasehold`, with the other client. */
export const leaseholdNodeRedis: Contestant = {
  ...withStore('leasehold-node-redis', 'node-redis', async (port) => nodeRedisStore(await connectNodeRedis(port))),
  async connect(port) {
    const redis = await connectNodeRedis(port)
    return locksOf({ store: nodeRedisStore(redis), notifier: nodeRedisNotifier(redis) })
  },
}

/** Through the gateway, with our own transport over `fetch`. */
export const leaseholdFetch: Contestant = withStore('leasehold-fetch', 'http', async (port) =>
  fetchStore({ url: gatewayUrl(port), token: gatewayToken }),
)

/** Through the gateway, with the user's `@upstash/redis`. */
export const leaseholdUpstash: Contestant = withStore('leasehold-upstash', 'http', async (port) => {
  const { Redis } = await import('@upstash/redis')
  return upstashStore(new Redis({ url: gatewayUrl(port), token: gatewayToken, enableTelemetry: false }))
})

export const leaseholdMemory: Contestant = withStore('leasehold-memory', 'memory', async () => memoryStore())

function overIoredis(name: string, options: (redis: Redis) => Partial<LockerOptions>): Contestant {
  return {
    ...withStore(name, 'ioredis', async (port) => ioredisStore(await connectIoredis(port))),
    async connect(port) {
      const redis = await connectIoredis(port)
      return locksOf({ store: ioredisStore(redis), ...options(redis) })
    },
  }
}

function withStore(name: string, client: Client, storeOn: (port: number) => Promise<LeaseStore>): Contestant {
  return {
    name,
    role: 'ours',
    client,
    sends: ['evalsha', 'eval', 'subscribe', 'unsubscribe'],
    connect: async (port) => locksOf({ store: await storeOn(port) }),
  }
}

function locksOf(options: LockerOptions): Locks {
  const locker = createLocker({ ttl: defaultTtlMs, wait: waitMs, ...options })
  const acquire = (key: string, ttlMs?: number): Promise<Held> =>
    ttlMs === undefined ? locker.acquire(key) : locker.acquire(key, { ttl: ttlMs })
  const attempt = async (key: string, ttlMs: number): Promise<Held> => {
    const lease = await locker.tryAcquire(key, { ttl: ttlMs })
    if (!lease) throw new Error(`${key} is held`)
    return lease
  }
  return { acquire, attempt, keep: acquire, withLock: (key) => locker.withLock(key, nothing) }
}

const nothing = async (): Promise<void> => undefined
