import { fifo } from '@leasehold/core/queue'
import type { Worker } from './work.ts'

/**
 * Books on an account. Its bookings are done one at a time, in the order in which they came in, whichever worker they came to: that is
 * what a plain lock does not promise.
 */
export function book({ locks, ledger, work }: Worker, account: string, booking: string): Promise<{ fence: number }> {
  return locks.withLock(`account:${account}`, { queue: fifo(), wait: '1m' }, async (lease) => {
    await work(lease.signal)
    lease.assertValid()
    await ledger.write(`booked ${booking} on ${account}`)
    return { fence: lease.fence }
  })
}
