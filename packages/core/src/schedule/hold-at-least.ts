import { demandOption } from '../errors.ts'
import { KeyCalls, sharedOf, type TryAcquireOptions } from '../key-locker.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Lease, Work } from '../lease/lease.ts'
import { withLease } from '../lease/with-lease.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, type CallSettings, callSettings } from '../options.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { keeping } from './keeping.ts'
import { releaseAfterOf } from './release-after-of.ts'

type Options = Omit<AcquireOptions, 'queue'>

/** The calls of a locker whose locks stay taken for a while, however soon the work is done. They do not use queues. */
export interface HoldingAtLeast {
  /** Like `acquire` of the locker. */
  acquire(key: string, options?: Options): Promise<Lease>
  /** Like `tryAcquire` of the locker. */
  tryAcquire(key: string, options?: Omit<TryAcquireOptions, 'queue'>): Promise<Lease | null>
  /** Like `withLock` of the locker. */
  withLock<T>(key: string, work: Work<T>): Promise<T>
  withLock<T>(key: string, options: Options | undefined, work: Work<T>): Promise<T>
}

/**
 * Returns the calls of a locker for jobs that several processes fire at about the same time and only one is to run. A
 * lock prevents overlap but not repetition: a job that takes 5 ms has released its lock by the time the next process's
 * timer fires. Here the lock stays taken for at least `atLeast`. Make that longer than the timers may be apart, and
 * shorter than the time between two runs.
 *
 * A release before `atLeast` is over ends the lease and leaves the lock to become free at that moment. It resolves with
 * `released`, takes one command, and needs nothing more of this process, which may exit. A later release is an ordinary
 * one. If the process dies, the ttl frees the lock; the ttl is also at least `atLeast`.
 *
 * Between the release and that moment nobody holds the lock: `inspect` shows the last holder, and `revoke` frees the
 * lock. Its waiters are notified of the new expiry.
 *
 * @param atLeast counted from when the acquire was answered, by this process's clock
 *
 * @example
 * ```ts
 * await using turn = await holdAtLeast(locks, '30s').tryAcquire('cron:nightly')
 * if (!turn) return // another process has run it
 * await report({ fence: turn.fence })
 * ```
 *
 * @throws InvalidOptionError for a bad duration, or a locker whose store does not offer this. The calls reject with
 *   what the locker's own reject with
 */
export function holdAtLeast(locks: Locker, atLeast: Duration): HoldingAtLeast {
  const shared = sharedOf(Object(locks))
  const store = shared && releaseAfterOf(shared.context.store)
  demandOption(shared !== undefined && store !== undefined, 'locks', 'a locker whose store can release later')
  const atLeastMs = parseDuration('atLeast', atLeast)
  const settings = callSettings(shared.defaults)
  const longer: CallSettings = (options) => {
    demandOption(options?.queue === undefined, 'queue', 'left out')
    const asked = settings(options)
    return { ...asked, queue: undefined, ttlMs: Math.max(asked.ttlMs, atLeastMs) }
  }

  /** Makes one call, whose lease is released in the way of this room. */
  async function held(acquire: (calls: KeyCalls) => Promise<Lease | null>, key: string): Promise<HeldLease | null> {
    const keeps = keeping(shared as NonNullable<typeof shared>, store as NonNullable<typeof store>, atLeastMs)
    const lease = (await acquire(new KeyCalls(keeps.shared, key, longer))) as HeldLease | null
    if (lease) keeps.begin(lease.parts()[1])
    return lease
  }
  const acquire = (key: string, options?: Options): Promise<HeldLease> =>
    held((calls) => calls.acquire(options), key) as Promise<HeldLease>

  return {
    acquire,
    tryAcquire: (key, options) => held((calls) => calls.tryAcquire(options), key),
    async withLock<T>(key: string, first: Options | Work<T> | undefined, second?: Work<T>): Promise<T> {
      const isAlone = second === undefined && typeof first === 'function'
      const work = (isAlone ? first : second) as Work<T>
      demandOption(typeof work === 'function', 'work', 'a function')
      return withLease(shared.context.clock, acquire(key, isAlone ? undefined : (first as Options)), work)
    },
  }
}
