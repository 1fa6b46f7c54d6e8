import { holdAtLeast } from '@leasehold/core/schedule'
import type { Worker } from './work.ts'

/** Longer than the timers of the workers may be apart, and shorter than the time between two nights. */
const atLeast = '1m'

/**
 * The nightly job, which the timer of each worker fires at about the same time. One of them runs it; the others find
 * the lock taken, even if the job is done before their timers fire. Returns whether this worker ran it.
 */
export async function nightly({ locks, ledger, work }: Worker): Promise<boolean> {
  await using turn = await holdAtLeast(locks, atLeast).tryAcquire('cron:nightly')
  if (!turn) return false
  await work(turn.signal)
  turn.assertValid()
  await ledger.write('ran the nightly job')
  return true
}
