import { createLocker, type LockerOptions, poll } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import type { Redis } from 'ioredis'
import { connectIoredis } from './connect-ioredis.ts'
import { type Contestant, type Held, ttlMs, waitMs } from './contestant.ts'

/** The lock with a notifier: between processes a release wakes the next waiter, within one the grant is handed on. */
export const leasehold: Contestant = variant('leasehold', (redis) => ({ notifier: ioredisNotifier(redis) }))

/** Without a notifier, with the default back-off. */
export const leaseholdAlone: Contestant = variant('leasehold-no-notifier', () => ({}))

export const leaseholdPoll: Contestant = variant('leasehold-poll-50', () => ({ strategy: poll({ every: '50ms' }) }))

/**
 * The textbook's spin lock, by our own code: each waiter polls for itself, as if it were alone in its process. Shows what
 * the cost model counts, and what sharing a process saves.
 */
export const leaseholdSpin: Contestant = {
  ...leaseholdPoll,
  name: 'leasehold-poll-50-each',
  async connect(port) {
    const store = ioredisStore(await connectIoredis(port))
    return {
      acquire: (key) =>
        createLocker({ store, ttl: ttlMs, wait: waitMs, strategy: poll({ every: '50ms' }) }).acquire(key),
    }
  },
}

function variant(name: string, options: (redis: Redis) => Partial<LockerOptions>): Contestant {
  return {
    name,
    role: 'ours',
    sends: ['evalsha', 'eval', 'subscribe', 'unsubscribe'],
    async connect(port) {
      const redis = await connectIoredis(port)
      const locker = createLocker({ store: ioredisStore(redis), ttl: ttlMs, wait: waitMs, ...options(redis) })
      return { acquire: (key): Promise<Held> => locker.acquire(key) }
    },
  }
}
