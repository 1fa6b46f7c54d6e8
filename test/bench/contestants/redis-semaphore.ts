import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs as defaultTtlMs, type Held, waitMs } from './contestant.ts'

/** Its default is a try every 10 ms. */
export const redisSemaphore: Contestant = variant('redis-semaphore', {})

export const redisSemaphore50: Contestant = variant('redis-semaphore-50', { retryInterval: 50 })

function variant(name: string, options: { readonly retryInterval?: number }): Contestant {
  return {
    name,
    role: 'other',
    client: 'ioredis',
    sends: ['set', 'evalsha', 'eval'],
    async connect(port) {
      const { Mutex } = await import('redis-semaphore')
      const redis = await connectIoredis(port)
      // It always renews, every 0.8 of the ttl.
      const acquire = async (key: string, ttlMs = defaultTtlMs): Promise<Held> => {
        const mutex = new Mutex(redis, key, { lockTimeout: ttlMs, acquireTimeout: waitMs, ...options })
        await mutex.acquire()
        return mutex
      }
      return { acquire, keep: acquire }
    },
  }
}
