import { LeaseLostError } from './errors.ts'
import type { ReleaseResult } from './events.ts'
import type { Grant } from './grant.ts'
import type { Lease } from './lease.ts'
import type { Clock } from './timing/clock.ts'
import { withDeadline } from './timing/deadline.ts'

/** After a loss, the release of what is no longer ours is awaited for so long at most, in milliseconds. */
const lostReleaseMs = 250

/**
 * Runs work under a lease and gives the lease back whatever happens. The work's own error wins over everything.
 *
 * @throws LeaseLostError with the work's `result` if the lease was lost meanwhile, which also shows when it is given back
 */
export async function withLease<T>(
  clock: Clock,
  lease: Lease,
  grant: Grant,
  work: (lease: Lease) => T | Promise<T>,
): Promise<T> {
  const giveBack = async (): Promise<'expired' | 'superseded' | undefined> => {
    const release = (): Promise<ReleaseResult> => lease.release()
    const result = await (grant.lostBecause ? withDeadline(clock, lostReleaseMs, release) : release())
    return result === 'expired' || result === 'superseded' ? result : undefined
  }

  let result: T
  try {
    result = await work(lease)
  } catch (error: unknown) {
    await giveBack()
    throw error
  }
  const missing = await giveBack()
  const cause = grant.lostBecause ?? (missing === 'expired' ? 'gone' : missing)
  if (cause) throw new LeaseLostError(lease.key, cause, result)
  return result
}
