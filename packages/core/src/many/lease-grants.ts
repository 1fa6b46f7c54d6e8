import type { Acquired } from '../acquire/acquisition.ts'
import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import { HeldLease } from '../lease/held-lease.ts'
import { Renewal } from '../lease/renewal.ts'
import { watchFor } from '../lease/watch.ts'
import type { Plan } from '../options.ts'
import { together } from './together.ts'

/**
 * Turns grants that came together into the caller's leases. They are renewed together, on Workers too, because they
 * belong to one call. None is handed off to another call of this process, but calls that wait for the lock there are
 * told when it is free.
 *
 * @param onEnded called when a lease has ended; it may be called more than once
 * @throws the signal's own reason if the caller gave up at the very moment of the grants, which are then given back
 */
export function leaseGrants(
  { context: locker, queue, jointRenewal }: Shared,
  grants: readonly Grant[],
  plan: Plan,
  { waitedMs, commands }: Pick<Acquired, 'waitedMs' | 'commands'>,
  onEnded?: () => void,
): ReadonlyMap<string, HeldLease> {
  const context = together(locker)
  const neighbours = queue()
  const joint = neighbours ? jointRenewal : new Renewal(context)
  const ended = (grant: Grant, subscribers: number | null): void => {
    neighbours?.ended(grant, subscribers)
    onEnded?.()
  }
  const successors = neighbours && { handOff: () => false, ended }
  const leases = new Map<string, HeldLease>()
  for (const grant of grants) {
    const watch = watchFor(context, plan, joint)
    const lease = new HeldLease(context, watch, successors, grant, { waitedMs, commands })
    leases.set(grant.key, lease)
    if (!lease.lostBecause && !plan.signal?.aborted) watch.watch(grant, plan)
  }
  // All are due at the same time, so that they are renewed together.
  for (const grant of grants) grant.dueMs = grants[0]?.dueMs as number
  if (plan.signal?.aborted) {
    for (const lease of leases.values()) context.work.background(() => lease.release())
    throw plan.signal.reason
  }
  for (const { key, fence } of leases.values()) context.emit?.({ type: 'acquired', key, fence, waitedMs, commands })
  return leases
}
