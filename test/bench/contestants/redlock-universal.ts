import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs as defaultTtlMs, type Held, waitMs } from './contestant.ts'

/** With its defaults: four tries, 100 ms apart. Under contention it gives up. */
export const redlockUniversal: Contestant = variant('redlock-universal', {})

/** Without its metrics and its health checks. */
export const redlockUniversalLean: Contestant = variant('redlock-universal-lean', { performance: 'lean' })

/** Polls every 50 ms for as long as the others wait. */
export const redlockUniversal50: Contestant = variant('redlock-universal-50', {
  retryAttempts: waitMs / 50,
  retryDelay: 50,
})

interface Settings {
  readonly performance?: 'lean'
  readonly retryAttempts?: number
  readonly retryDelay?: number
}

function variant(name: string, settings: Settings): Contestant {
  return {
    name,
    role: 'other',
    client: 'ioredis',
    sends: ['set', 'evalsha', 'eval', 'ping', 'script|load'],
    async connect(port) {
      const { createLock, IoredisAdapter } = await import('redlock-universal')
      const adapter = new IoredisAdapter(await connectIoredis(port))
      const lockOf = (key: string, ttl: number) => createLock({ adapter, key, ttl, ...settings })
      return {
        async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
          const lock = lockOf(key, ttlMs)
          const handle = await lock.acquire()
          return { release: () => lock.release(handle) }
        },
        keep: (key, ttlMs) => heldWithin((work) => lockOf(key, ttlMs).using(work)),
      }
    },
  }
}

/** A lock that a library holds and renews around some work, until `release` lets the work end. */
export function heldWithin(using: (work: () => Promise<void>) => Promise<unknown>): Promise<Held> {
  return new Promise((resolve, reject) => {
    const done = using(
      () =>
        new Promise((end) => {
          const release = (): Promise<unknown> => {
            end()
            return done
          }
          resolve({ release })
        }),
    )
    done.catch(reject)
  })
}
