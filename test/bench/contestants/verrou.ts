import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs as defaultTtlMs, type Held, waitMs } from './contestant.ts'

/** Its default is a try every 250 ms. It renews nothing. */
export const verrou: Contestant = variant('verrou', {})

export const verrou50: Contestant = variant('verrou-50', { delay: 50 })

function variant(name: string, retry: { readonly delay?: number }): Contestant {
  return {
    name,
    role: 'other',
    client: 'ioredis',
    sends: ['set', 'eval', 'evalsha'],
    async connect(port) {
      const [{ LockFactory }, { redisStore }] = await Promise.all([
        import('@verrou/core'),
        import('@verrou/core/drivers/redis'),
      ])
      const factory = new LockFactory(redisStore({ connection: await connectIoredis(port) }).factory(), {
        retry: { timeout: waitMs, ...retry },
      })
      return {
        async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
          const lock = factory.createLock(key, ttlMs)
          if (!(await lock.acquire())) throw new Error(`${key} is held`)
          return { release: () => lock.release() }
        },
      }
    },
  }
}
