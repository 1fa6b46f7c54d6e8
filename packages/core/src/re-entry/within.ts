import { demandOption } from '../errors.ts'
import { refuseWaiting, type Shared, sharedOf, type TryAcquireOptions } from '../key-locker.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Lease, Work } from '../lease/lease.ts'
import { withLease } from '../lease/with-lease.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, callSettings, planFor } from '../options.ts'
import { Holds } from './holds.ts'
import { NestedLease } from './nested-lease.ts'

/** The calls of a locker for work that already holds a lease. */
export interface WithinLease {
  /** Like `acquire` of the locker; for the lease's own key, a further hold of that lease. */
  acquire(key: string, options?: AcquireOptions): Promise<Lease>
  /** Like `tryAcquire` of the locker; for the lease's own key, a further hold of that lease, and never null. */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lease | null>
  /** Like `withLock` of the locker; for the lease's own key, under a further hold of that lease. */
  withLock<T>(key: string, work: Work<T>): Promise<T>
  withLock<T>(key: string, options: AcquireOptions | undefined, work: Work<T>): Promise<T>
}

/**
 * Re-entry: returns the calls of a locker for work that holds a lease and may need its key again. For that key they
 * resolve with a further hold of the same lease at once, ahead of any queue and without a command. For any other key
 * they are the locker's own.
 *
 * A hold has the lease's fence, token, signal and validity, and a `release()` of its own. The lock goes back with the
 * last hold, whichever that is; until then a release resolves with `released` and sends nothing. A lock whose lease is
 * lost goes back with the outer lease, and a hold that ends before that resolves with `unknown` if the store may still
 * have the lock. Options other than `signal` have no effect: the acquire of the lease decided how long it lives and
 * whether it is renewed.
 *
 * The only way in is the lease. Work without it waits like anybody else, even in the same process: work inherits
 * nothing by merely running at the same time.
 *
 * @example
 * ```ts
 * async function settle(order: string, lease: Lease) {
 *   await within(locks, lease).withLock(order, async (hold) => pay({ fence: hold.fence }))
 * }
 * await locks.withLock('order:1', (lease) => settle('order:1', lease))
 * ```
 *
 * @throws InvalidOptionError for anything that is not a locker, or not a lease of it. For leases of read/write locks,
 *   use `read({ within: lease })` of their lock; permits cannot be entered. The calls reject with what the locker's own
 *   reject with, and for the key of the lease with `LEASE_LOST` once it is lost, or `LEASE_RELEASED` once it is
 *   released
 */
export function within(locks: Locker, lease: Lease): WithinLease {
  const shared = sharedOf(Object(locks))
  demandOption(shared !== undefined, 'locks', 'a locker')
  refuseShared(lease)
  demandOption(isOf(shared, lease), 'lease', 'a lease of this locker')
  const { clock, work: openWork } = shared.context
  const settings = callSettings(shared.defaults)

  async function enter(key: string, options: AcquireOptions | undefined): Promise<NestedLease> {
    const { signal } = planFor(key, settings(options))
    signal?.throwIfAborted()
    lease.assertValid()
    openWork.assertOpen()
    const holds = holdsOf(lease as HeldLease | NestedLease)
    const nested = new NestedLease(holds)
    holds.enter(nested)
    return nested
  }

  return {
    async acquire(key, options) {
      return key === lease.key ? enter(key, options) : locks.acquire(key, options)
    },
    async tryAcquire(key, options) {
      if (key !== lease.key) return locks.tryAcquire(key, options)
      refuseWaiting(options)
      return enter(key, options)
    },
    async withLock<T>(key: string, first: AcquireOptions | Work<T> | undefined, second?: Work<T>): Promise<T> {
      if (key !== lease.key) return locks.withLock(key, first as AcquireOptions, second as Work<T>)
      const isAlone = second === undefined && typeof first === 'function'
      const work = (isAlone ? first : second) as Work<T>
      demandOption(typeof work === 'function', 'work', 'a function')
      return withLease(clock, enter(key, isAlone ? undefined : (first as AcquireOptions)), work)
    },
  }
}

/** Goes by what a lease does and not by its class, because the other build of this package has classes of its own. */
function isOf(shared: Shared, lease: Lease): boolean {
  const { holds, parts } = Object(lease) as Partial<HeldLease & NestedLease>
  const context = holds?.context ?? parts?.call(lease)[0]
  return context?.work === shared.context.work
}

/**
 * Permits of a semaphore and leases of a read/write lock are not the whole lock, so they may not be entered as if they
 * were.
 *
 * @throws InvalidOptionError for either
 */
function refuseShared(lease: Lease): void {
  const { mode, permits } = Object(lease) as { readonly mode?: unknown; readonly permits?: unknown }
  const must = 'of a lock for one holder; read/write leases re-enter by read({ within })'
  demandOption(!mode && !permits, 'lease', must)
}

/** The holds of a lease. Its grant may still have the holds of the previous holder. */
function holdsOf(lease: HeldLease | NestedLease): Holds {
  if ('holds' in lease) return lease.holds
  const parts = lease.parts()
  const { holds } = parts[1]
  return (holds as Holds | undefined)?.outer === lease ? (holds as Holds) : new Holds(lease, parts)
}
