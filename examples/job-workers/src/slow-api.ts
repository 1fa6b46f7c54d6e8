import { semaphore } from '@leasehold/core/semaphore'
import type { Worker } from './work.ts'

/** The most calls that the API takes at once, from all workers together. */
export const mostCalls = 5

/** Asks the slow API for a rate, once one of its permits is free. First come, first served. */
export function rate(
  { name, locks, ledger, work }: Worker,
  currency: string,
): Promise<{ currency: string; askedBy: string }> {
  return semaphore(locks, 'slow-api', { permits: mostCalls }).withPermit({ wait: '1m' }, async (lease) => {
    await ledger.write(`ask for ${currency}`)
    await work(lease.signal)
    await ledger.write(`told of ${currency}`)
    return { currency, askedBy: name }
  })
}
