import type { LedgerEntry } from './ledger.ts'
import type { Locks } from './locks.ts'
import type { Records } from './records.ts'

/** Writes to the ledger when a lock's work begins and when it ends, both while the lock is held. */
export function auditedLocks(locks: Locks, records: Records, server: string): Locks {
  return {
    withLock: (key, options, work) =>
      locks.withLock(key, options, async (hold) => {
        const note = (type: LedgerEntry['type']): Promise<void> =>
          records.append({ type, server, key, fence: hold.fence })
        await note('enter')
        try {
          return await work(hold)
        } finally {
          await note('leave')
        }
      }),
  }
}
