import { priority } from '@leasehold/core/queue'
import type { Worker } from './work.ts'

/**
 * Prints on the one printer that all workers share. The most urgent document comes first: 1 before 10. None waits
 * forever: each step of urgency is worth two seconds of waiting.
 */
export function print({ locks, ledger, work }: Worker, document: string, urgency: number): Promise<void> {
  return locks.withLock('printer', { queue: priority(urgency), wait: '1m' }, async (lease) => {
    await work(lease.signal)
    lease.assertValid()
    await ledger.write(`printed ${document}`)
  })
}
