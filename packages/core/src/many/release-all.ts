import type { Context } from '../context.ts'
import { demandOption } from '../errors.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { type EndGrant, releaseGrant } from '../lease/release.ts'
import type { LeaseStore, ReleaseResult } from '../store/lease-store.ts'
import type { LeaseSet } from './lease-set.ts'
import { together } from './together.ts'

/**
 * Gives leases back, with one command for each node, and resolves with how that ended for each, in their order. The
 * store compares each token and deletes the lock in one step: a lock that has changed hands stays with its new holder.
 *
 * The leases may be of any kind and of several lockers. It never rejects because of what the store says, and settles
 * within the store's command deadline. A lease that was released before gives its first answer.
 *
 * @example
 * ```ts
 * const free = await tryAcquireEach(locks, ['seat:1', 'seat:2', 'seat:3'])
 * const results = await releaseAll(free.values())
 * ```
 *
 * @throws InvalidOptionError for anything but a list or set of leases, before anything is released
 */
export async function releaseAll(leases: Iterable<Lease> | LeaseSet): Promise<readonly ReleaseResult[]> {
  const given = (leases as Partial<LeaseSet> | undefined)?.leases?.values() ?? (leases as Iterable<Lease>)
  demandOption(Symbol.iterator in Object(given), 'leases', 'a list of leases, or a set of them')
  const all = [...given]
  demandOption(
    all.every((lease) => typeof lease?.release === 'function'),
    'leases',
    'leases of a locker',
  )
  const end = endTogether()
  return Promise.all(all.map((lease) => (endsGrants(lease) ? lease.end(end) : lease.release())))
}

/** Ends grants of one turn with one command for each node, whichever lockers they belong to. */
function endTogether(): EndGrant {
  const callsTo = new Map<LeaseStore, Context['calls']>()
  return (context, grant, holder, now) => {
    const calls = callsTo.get(context.store) ?? together(context).calls
    callsTo.set(context.store, calls)
    return releaseGrant({ ...context, calls }, grant, holder, now)
  }
}

/** Looks for the method, not the class: see `detach`. A lease of another kind is given back in its own way. */
const endsGrants = (lease: Lease): lease is HeldLease => typeof (lease as Partial<HeldLease>).end === 'function'
