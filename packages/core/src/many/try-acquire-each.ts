import { acquireAlone } from '../acquire/acquire-alone.ts'
import { failedCall, refuseWaiting, type TryAcquireOptions } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import type { Locker } from '../locker.ts'
import { callSettings, type Plan, planFor } from '../options.ts'
import { instant, waitedMs } from '../timing/validity.ts'
import { refuseQueue, sharedForSets } from './acquire-all.ts'
import { giveBack } from './give-back.ts'
import { keySet } from './key-set.ts'
import { leaseGrants } from './lease-grants.ts'
import { naming } from './naming.ts'
import { together } from './together.ts'

/**
 * Tries once to acquire each of several locks, and resolves with the leases of those that were free, by key. It takes
 * one round trip, with one command for each node. The leases are independent of each other. `releaseAll` gives them
 * back with as few commands.
 *
 * @example
 * ```ts
 * const free = await tryAcquireEach(locks, ['seat:1', 'seat:2', 'seat:3'])
 * for (const [key, lease] of free) await book(key, { fence: lease.fence })
 * await releaseAll(free.values())
 * ```
 *
 * @throws InvalidOptionError for bad keys or options, or if `locks` is not a locker
 * @throws everything else that `tryAcquire` of a locker throws, if one of the keys meets with it; what was taken is
 *   given back
 */
export async function tryAcquireEach(
  locks: Locker,
  keys: Iterable<string>,
  options?: Omit<TryAcquireOptions, 'queue'>,
): Promise<ReadonlyMap<string, Lease>> {
  refuseWaiting(options)
  refuseQueue(options)
  const shared = sharedForSets(locks)
  const settings = callSettings(shared.defaults)(options)
  const context = together(shared.context)
  const since = instant(context.clock)
  const plans = keySet(keys, 0).map((key) => planFor(key, settings, 0))
  const found = await Promise.allSettled(plans.map((plan) => acquireAlone(context, plan, since)))
  const grants = found.flatMap((each) => (each.status === 'fulfilled' && each.value.grant ? [each.value.grant] : []))
  for (const [at, each] of found.entries()) {
    if (each.status === 'fulfilled') continue
    void giveBack(shared, grants)
    const plan = plans[at] as Plan
    failedCall(context, plan, since, naming(plan.key, each.reason))
  }
  const figures = {
    waitedMs: waitedMs(context.clock, since),
    commands: Math.max(...plans.map((plan) => plan.commands)),
  }
  return plans[0] ? leaseGrants(shared, grants, plans[0], figures) : new Map()
}
