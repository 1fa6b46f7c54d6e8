import { LeaseholdError } from '../../errors.ts'
import type { Refused } from '../../store/lease-store.ts'
import type { Tables } from '../tables.ts'
import type { LockQueue } from './lock-queue.ts'

/** The queue of a lock that several holders have now, or may have: a semaphore, or a read/write lock. */
export function heldBySeveral(tables: Tables, key: string, nowMs: number): LockQueue | undefined {
  const queue = tables.queues.get(key, nowMs)?.value
  if (!queue) return undefined
  for (const { expiresAtMs } of queue.holders.values()) if (expiresAtMs > nowMs) return queue
  return undefined
}

/** The answer to a request for a lock with one holder. */
export const notExclusive = (): Refused => ({
  type: 'refused',
  error: new LeaseholdError('KIND_MISMATCH', 'The key is a lock for several holders; use another key or prefix'),
})
