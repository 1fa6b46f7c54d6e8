import { fifo } from '@leasehold/core/queue'
import type { Worker } from './work.ts'

/**
 * Books on an account. Its bookings are done one at a time, in order of arrival, whichever worker they came to: a plain
 * lock does not promise that order.
 */
export function book({ locks, ledger, work }: Worker, account: string, booking: string): Promise<{ fence: number }> {
  return locks.withLock(`account:${account}`, { queue: fifo(), wait: '1m' }, async (lease) => {
    await work(lease.signal)
    lease.assertValid()
    await ledger.write(`booked ${booking} on ${account}`)
    return { fence: lease.fence }
  })
}
