import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs, waitMs } from './contestant.ts'

/** Its default is a try each 10 ms. */
export const redisSemaphore: Contestant = variant('redis-semaphore', {})

export const redisSemaphore50: Contestant = variant('redis-semaphore-50', { retryInterval: 50 })

function variant(name: string, options: { readonly retryInterval?: number }): Contestant {
  return {
    name,
    role: 'other',
    sends: ['set', 'evalsha', 'eval'],
    async connect(port) {
      const { Mutex } = await import('redis-semaphore')
      const redis = await connectIoredis(port)
      return {
        async acquire(key) {
          const mutex = new Mutex(redis, key, { lockTimeout: ttlMs, acquireTimeout: waitMs, ...options })
          await mutex.acquire()
          return mutex
        },
      }
    },
  }
}
