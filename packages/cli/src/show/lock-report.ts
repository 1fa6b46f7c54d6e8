import type { Locker } from '@leasehold/core'
import { type ListedLock, readLocks } from '@leasehold/core/listing'
import { inspectQueue, type QueueHolder, type QueueState } from '@leasehold/core/queue'

/** All that is known of a lock that is held or waited for. */
export interface LockReport {
  readonly key: string
  readonly kind: ListedLock['kind']
  readonly capacity: number
  readonly isKept: boolean
  /** How many permits are held, by all holders. */
  readonly permitsHeld: number
  /** The first 1,000. */
  readonly holders: readonly (QueueHolder & { readonly since: Date | null })[]
  /** The waiters in its queue: the first 100, in order, and how many there are in all. */
  readonly waiters: QueueState['waiters']
  readonly waiting: number
  /** Processes that listen for its release; null if they cannot be counted. */
  readonly listeners: number | null
}

/**
 * Resolves to undefined for a lock that is free and that nobody waits for.
 *
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
 */
export async function lockReport(locks: Locker, key: string, signal: AbortSignal): Promise<LockReport | undefined> {
  // Two reads, one after the other: the second decides, and the first only adds to it.
  const [listed] = await readLocks(locks, [key], { signal })
  const { kind, held, holders, waiters, waiting } = await inspectQueue(locks, key)
  if (holders.length === 0 && waiting === 0) return undefined
  return {
    key,
    kind: kind?.name ?? listed?.kind ?? 'exclusive',
    capacity: kind?.capacity ?? listed?.capacity ?? 1,
    isKept: listed?.isKept === true && holders[0]?.fence === listed.fence,
    permitsHeld: held,
    // A fence is the time when it was minted, in microseconds.
    holders: holders.map((holder) => ({
      ...holder,
      since: holder.fence === null ? null : new Date(holder.fence / 1_000),
    })),
    waiters,
    waiting,
    listeners: listed?.listeners ?? null,
  }
}
