import type { Grant } from '../lease/grant.ts'
import type { Queue } from '../options.ts'
import type { QueueKind, QueueStore } from '../store/queue.ts'
import type { Waiters } from './waiters.ts'

/** What a queued call asks for. */
export interface Wish {
  readonly kind: QueueKind
  /** How many permits to take; at most the capacity. */
  readonly permits: number
}

/** What the queued calls of one locker share. */
export interface Queues {
  readonly port: QueueStore
  /** The waiters that are told of their turn; undefined if nobody can tell them. */
  readonly waiters: Waiters | undefined
  /** The grants that the locker's queued calls hold, where calls may know of each other. */
  readonly held: Set<Grant>
}

/** A queue as this room knows it. */
export interface Order extends Queue {
  /** 0 is served first. */
  readonly priorityClass: number
}
