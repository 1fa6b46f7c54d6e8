import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Lease } from '../lease/lease.ts'
import { type EndGrant, releaseGrant } from '../lease/release.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import type { DetachedLease } from './detached-lease.ts'

export interface DetachOptions {
  /**
   * How long the store keeps the lock from now on: as long as the message may take to arrive and be resumed. A lease
   * with more time left keeps it.
   */
  readonly ttl: Duration
}

/**
 * Lets go of a lease without giving the lock back, so that another process can take it over with {@link resume}. The
 * lease is renewed once, to `ttl`, and never again. Its hold ends here: its signal no longer fires, `release()`
 * resolves with `detached`, and every other call fails with `LEASE_RELEASED`. If nobody resumes it, the lock is free
 * once the ttl is over. So if the message cannot be sent, resume the lease and release it.
 *
 * A lease with nested holds is refused: their work would go on beside that of whoever resumes it. If such a hold begins
 * while the request is in flight, the lease is refused as well. It is then still held and renewed; the store may keep
 * it for `ttl`.
 *
 * The result is plain JSON with a secret token: see {@link DetachedLease}.
 *
 * @example
 * ```ts
 * await using lease = await locks.acquire('import:7')
 * await queue.send(await detach(lease, { ttl: '5m' }))
 * ```
 *
 * @throws StoreUnavailableError if no answer came. The lease is still held and renewed as before; the store may keep it
 *   for `ttl`
 * @throws LeaseLostError if the lease is no longer ours
 * @throws LeaseholdError with code `LEASE_RELEASED` if it was released or detached before, or in the meantime
 * @throws InvalidOptionError for a bad option, a lease with nested holds, or what is not a lease of a lock for one
 *   holder
 */
export async function detach(lease: Lease, options: DetachOptions): Promise<DetachedLease> {
  demandOption(isHeldLease(lease), 'lease', 'a lease of a locker, for one holder')
  demandObject(options)
  const { ttl, ...rest } = options ?? {}
  refuseUnknown(rest)
  parseDuration('ttl', ttl)
  refuseNested(lease)
  await lease.renew({ ttl })
  // Since the answer, the lease may have been lost, or released and handed off, and nested holds may have begun.
  lease.assertValid()
  refuseNested(lease)
  // Reading the token keeps the lease from being handed off. Its hold ends in the same turn.
  const { key, token, fence } = lease
  void lease.end(leaveGrant)
  if (lease.lostBecause) throw lease.lostError()
  return { key, token, fence }
}

/**
 * Looks for a method that no other lease has, not for the class: the other build of this package has a class of its
 * own. Permits of a semaphore are not a lock that `resume` could take over.
 */
const isHeldLease = (lease: Lease): lease is HeldLease =>
  typeof Object(lease).end === 'function' && Object(lease).permits === undefined

function refuseNested(lease: HeldLease): void {
  const [, { holds }] = lease.parts()
  demandOption(!holds?.hasNested, 'lease', 'without nested holds: release them first')
}

/** Ends a grant, and leaves its lock to whoever has the token. */
const leaveGrant: EndGrant = (context, grant, holder, now) => {
  // Its validity ended at this very moment.
  if (grant.lostBecause) return releaseGrant(context, grant, holder, now)
  // Requests in flight may be answered "not yours" once somebody has taken the lease over: that is not a loss.
  grant.end()
  // Nothing is given back, so nothing can be passed on.
  grant.passing = undefined
  holder.onReleased('detached', 0)
}
