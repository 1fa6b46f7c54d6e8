import { randomUUID } from 'node:crypto'
import { createLocker } from '@leasehold/core'
import { type Semaphore, semaphore } from '@leasehold/core/semaphore'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs, waitMs } from './contestant.ts'

/** How many permits each pool has. */
export const capacity = 5

/** Waiters queue at the store, and a release notifies the next one. */
export const leaseholdSemaphore: Contestant = {
  name: 'leasehold-permits',
  role: 'ours',
  client: 'ioredis',
  sends: ['evalsha', 'eval', 'subscribe', 'unsubscribe'],
  async connect(port) {
    const redis = await connectIoredis(port)
    const store = ioredisStore(redis)
    const locks = createLocker({ store, notifier: ioredisNotifier(redis), ttl: ttlMs, wait: waitMs })
    const pools = new Map<string, Semaphore>()
    return {
      acquire(key) {
        const pool = pools.get(key) ?? semaphore(locks, key, { permits: capacity })
        pools.set(key, pool)
        return pool.acquire()
      },
    }
  },
}

/** Its default is a try every 10 ms. */
export const redisSemaphorePermits: Contestant = rival('redis-semaphore-permits', {})

export const redisSemaphorePermits50: Contestant = rival('redis-semaphore-permits-50', { retryInterval: 50 })

function rival(name: string, options: { readonly retryInterval?: number }): Contestant {
  return {
    name,
    role: 'other',
    client: 'ioredis',
    sends: ['evalsha', 'eval', 'zrem'],
    async connect(port) {
      const { Semaphore: Theirs } = await import('redis-semaphore')
      const redis = await connectIoredis(port)
      return {
        async acquire(key) {
          const permit = new Theirs(redis, key, capacity, { lockTimeout: ttlMs, acquireTimeout: waitMs, ...options })
          await permit.acquire()
          return permit
        },
      }
    },
  }
}

/** The minimum permit with an expiry: a sorted set of holders. A refused waiter asks again at once. */
export const rawPermits: Contestant = {
  name: 'raw-permits',
  role: 'floor',
  client: 'ioredis',
  sends: ['evalsha', 'zrem'],
  async connect(port) {
    const redis = await connectIoredis(port)
    const sha = String(
      await redis.script(
        'LOAD',
        `local time = redis.call('TIME')
         local now = time[1] * 1000 + math.floor(time[2] / 1000)
         redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
         if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
         redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
         redis.call('PEXPIRE', KEYS[1], ARGV[3])
         return 1`,
      ),
    )
    return {
      async acquire(key) {
        const token = randomUUID()
        const from = performance.now()
        while ((await redis.evalsha(sha, 1, key, token, capacity, ttlMs)) !== 1) {
          if (performance.now() - from > waitMs) throw new Error(`${key} has no permit left`)
        }
        return { release: () => redis.zrem(key, token) }
      },
    }
  },
}
