import type { ReleaseResult } from '../store/lease-store.ts'
import type { Clock } from '../timing/clock.ts'
import { settledWithin } from '../timing/deadline.ts'
import { lostReleaseMs } from './figures.ts'
import type { HeldLease } from './held-lease.ts'

/** What is needed to end a lease after its work. */
type Ending = Pick<HeldLease, 'release' | 'lostBecause' | 'lostError'>

/**
 * Runs work under a lease once it is acquired, and gives the lease back whatever happens.
 *
 * @throws the work's own error, which takes precedence over any other
 * @throws LeaseLostError, with the work's `result`, if the lease was lost meanwhile. The loss may show only at the release.
 */
export async function withLease<L extends Ending, T>(
  clock: Clock,
  acquiring: Promise<L>,
  work: (lease: L) => T | Promise<T>,
): Promise<T> {
  const lease = await acquiring
  let result: T
  let ended: ReleaseResult | undefined
  try {
    result = await work(lease)
  } finally {
    const releasing = lease.release()
    if (lease.lostBecause) await settledWithin(clock, lostReleaseMs, releasing)
    else ended = await releasing
  }
  const missing = ended === 'expired' ? 'gone' : ended === 'superseded' ? ended : undefined
  const reason = lease.lostBecause ?? missing
  if (reason) throw lease.lostError(reason, result)
  return result
}
