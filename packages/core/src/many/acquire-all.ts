import { AcquireTimeoutError, demandOption } from '../errors.ts'
import { failedCall, refuseWaiting, type Shared, sharedOf, type TryAcquireOptions } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, callSettings, planFor } from '../options.ts'
import { type Instant, instant } from '../timing/validity.ts'
import type { SetAcquired } from './acquire-group.ts'
import { SetAcquisition } from './acquire-set.ts'
import { keySet } from './key-set.ts'
import { leaseGrants } from './lease-grants.ts'
import { HeldSet, type LeaseSet } from './lease-set.ts'
import { lineFor } from './set-line.ts'
import type { SetPlan } from './set-plan.ts'

/** The options of an acquire, except `queue`: sets do not queue. */
export type SetOptions = Omit<AcquireOptions, 'queue'>

/**
 * Acquires several locks, all of them or none, waiting until that is possible. Keys may repeat and come in any order.
 *
 * Where one request can span the keys (on a single server, or for keys with one hash tag on a cluster), one script
 * grants them, and a waiting call holds none of them. Otherwise the locks are taken one after another, in the order of
 * their keys' UTF-8 bytes, and a call that waits for one holds those before it. Either way, no two calls wait for each
 * other, and a call that fails leaves nothing behind.
 *
 * A set waits until all of its locks are free at the same moment. Once it has waited for a second, sets that came more
 * than a second after it leave its locks to it. Single acquires do not: if they take the locks all the time, the set
 * may wait for long.
 *
 * @example
 * ```ts
 * await using both = await acquireAll(locks, ['stock:1', 'stock:2'], { wait: '5s' })
 * both.assertValid()
 * await move({ fence: both.leases.get('stock:1')?.fence, signal: both.signal })
 * ```
 *
 * @throws AcquireTimeoutError when the wait or the budget ran out. Its `key` names the lock that was in the way
 * @throws InvalidOptionError for bad keys or options, or if `locks` is not a locker
 * @throws everything else that `acquire` of a locker throws; what was taken is given back
 */
export async function acquireAll(locks: Locker, keys: Iterable<string>, options?: SetOptions): Promise<LeaseSet> {
  return (await acquireSet(locks, keys, options)) as LeaseSet
}

/**
 * Tries once to acquire several locks, all of them or none. Null means that somebody holds one of them, or that one is
 * left to a set that has waited for more than a second.
 *
 * @example
 * ```ts
 * await using both = await tryAcquireAll(locks, ['stock:1', 'stock:2'])
 * if (!both) return
 * ```
 *
 * @throws everything that `acquireAll` throws, except AcquireTimeoutError
 */
export async function tryAcquireAll(
  locks: Locker,
  keys: Iterable<string>,
  options?: Omit<TryAcquireOptions, 'queue'>,
): Promise<LeaseSet | null> {
  refuseWaiting(options)
  return acquireSet(locks, keys, options, 0)
}

/** @param waitMs 0 for a call that does not wait; only such a call may resolve with null */
export async function acquireSet(
  locks: Locker,
  keys: Iterable<string>,
  options: SetOptions | undefined,
  waitMs?: 0,
): Promise<HeldSet | null> {
  refuseQueue(options)
  const shared = sharedForSets(locks)
  const { context, defaults } = shared
  const set = keySet(keys, 1)
  const plan: SetPlan = planFor(set[0] as string, callSettings(defaults)(options), waitMs)
  const since = instant(context.clock)
  try {
    const found = await inTurn(shared, set, plan, since)
    if (found instanceof HeldSet) return found
    if (waitMs === 0) return null
    throw new AcquireTimeoutError(plan.key, found, plan)
  } catch (error) {
    failedCall(context, plan, since, error)
  }
}

/** Acquires the set when it is this call's turn. Resolves with how the attempt ended if it brought no set. */
async function inTurn(
  shared: Shared,
  keys: readonly string[],
  plan: SetPlan,
  since: Instant,
): Promise<HeldSet | SetAcquired> {
  const { context } = shared
  const line = lineFor(shared, keys, plan)
  let toldContended = false
  const pass = await line?.turn(plan, since, () => {
    toldContended = true
    context.emit?.({ type: 'contended', key: plan.key })
  })
  const acquisition = new SetAcquisition(shared, keys, plan, { since, toldContended, line })
  if (line && !pass) return acquisition.inLine(line)
  try {
    const found = await acquisition.run()
    if (found.grants.length === 0) return found
    line?.hold()
    const leases = leaseGrants(shared, found.grants, plan, found, pass)
    return new HeldSet(leases, found)
  } finally {
    if (!line?.isHeld) pass?.()
  }
}

/** @throws InvalidOptionError for a queue. One in the locker's defaults is ignored: sets do not queue */
export function refuseQueue(options: AcquireOptions | undefined): void {
  demandOption(options?.queue === undefined, 'queue', 'left out: several locks at once stand in no queue')
}

/** @throws InvalidOptionError if `locks` is not a locker */
export function sharedForSets(locks: Locker): Shared {
  const shared = sharedOf(Object(locks))
  demandOption(shared !== undefined, 'locks', 'a locker')
  return shared
}
