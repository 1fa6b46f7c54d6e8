import type { Locks } from './locks.ts'
import type { Ledger, LedgerEntry } from './records.ts'

/**
 * Writes the start and the end of every hold to the ledger, both while the lock is held. The demo checks this ledger.
 */
export function auditedLocks(locks: Locks, ledger: Ledger, server: string): Locks {
  return {
    withLock: (key, options, work) =>
      locks.withLock(key, options, async (lease) => {
        const note = (type: LedgerEntry['type']): Promise<void> =>
          ledger.append({ type, server, key, fence: lease.fence })
        await note('enter')
        try {
          return await work(lease)
        } finally {
          await note('leave')
        }
      }),
  }
}
