import type { QueueHolder, QueueInspection, QueueKind, QueueWaiter } from '../store/queue.ts'

/** Who has permits of a semaphore now, and who waits for some. Never a token. */
export interface SemaphoreState {
  /** How many permits there are in all. */
  readonly permits: number
  /**
   * How many nobody has. They may be kept for the first waiter: what it wants is given to no other, so a call that comes now may
   * wait although some are available.
   */
  readonly available: number
  readonly holders: readonly PermitHolder[]
  /** The first 100 in the order in which they are served. */
  readonly waiters: readonly PermitWaiter[]
  /** How many wait. Whoever was killed while waiting is counted until it is found out, 12 seconds at most, or 18 over HTTP. */
  readonly waiting: number
}

/** Who has some permits. */
export interface PermitHolder extends QueueHolder {}

/** Who waits for permits. */
export interface PermitWaiter extends QueueWaiter {}

type Found = Extract<QueueInspection, { readonly type: 'state' }>

/** @param asked what the semaphore is if nobody uses it now */
export function semaphoreState(asked: QueueKind, { kind, holders, waiters, waiting }: Found): SemaphoreState {
  const { capacity } = kind ?? asked
  const taken = holders.reduce((sum, { permits }) => sum + permits, 0)
  // After a resize more may be held than there are.
  return { permits: capacity, available: Math.max(0, capacity - taken), holders, waiters, waiting }
}
