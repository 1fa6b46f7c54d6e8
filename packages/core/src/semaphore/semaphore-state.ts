import type { QueueHolder, QueueInspection, QueueKind, QueueWaiter } from '../store/queue.ts'

/** Who has permits of a semaphore now, and who waits for some. It never contains a token. */
export interface SemaphoreState {
  /** How many permits there are in all. */
  readonly permits: number
  /**
   * How many permits nobody has. They may be set aside for the first waiter: nobody else gets what it wants, so a call
   * that comes now may wait although some are available.
   */
  readonly available: number
  /** At most 1,000: those whose leases end first. `available` counts all. */
  readonly holders: readonly PermitHolder[]
  /** The first 100 waiters, in the order in which they are served. */
  readonly waiters: readonly PermitWaiter[]
  /** How many wait. A killed waiter still counts until that is noticed: at most 12 seconds, or 18 over HTTP. */
  readonly waiting: number
}

/** A holder of permits. */
export interface PermitHolder extends QueueHolder {}

/** A waiter for permits. */
export interface PermitWaiter extends QueueWaiter {}

type Found = Extract<QueueInspection, { readonly type: 'state' }>

/** @param asked what the semaphore is if nobody uses it now */
export function semaphoreState(asked: QueueKind, { kind, held, holders, waiters, waiting }: Found): SemaphoreState {
  const { capacity } = kind ?? asked
  // After a resize, more permits may be held than there are.
  return { permits: capacity, available: Math.max(0, capacity - held), holders, waiters, waiting }
}
