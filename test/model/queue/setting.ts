import type { QueueKind } from '../../../packages/core/src/store/queue.ts'
import { aliveMs, mostRecheckMs, windowMs } from '../../../packages/core/src/store/queue-figures.ts'

/** The faults of a run. Shares are between 0 and 1, times in milliseconds. */
export interface Faults {
  readonly messageLoss: number
  readonly requestLoss: number
  readonly replyLoss: number
  /** Share of requests, replies and messages that take up to `lateMs`. */
  readonly late: number
  readonly lateMs: number
  /** Share of requests that a client, or a proxy, sends twice. */
  readonly duplicate: number
  /** Processes that die while their waiters queue. */
  readonly killed: number
  /** Processes that freeze, how often each freezes, for how long, and how long in between. */
  readonly frozen: number
  readonly freezes: number
  readonly freezeMs: Range
  readonly awakeMs: Range
  /** Share of waiters that give up. */
  readonly aborts: number
  /** Share of plain acquires, which look only at the lock. */
  readonly plain: number
  /** Share of tries that do not wait. */
  readonly tries: number
  /** Subscribers are never counted: on a cluster, or where processes listen at a replica. */
  readonly uncounted: boolean
  /** Processes whose subscription is down for a while. */
  readonly deaf: number
  /** Processes that the store hears but that hear nothing, for 5 to 30 s. */
  readonly mute: number
  /** The store is restarted without its data, once. */
  readonly wiped: boolean
  /** Share of HTTP waiters that die between entering and their first poll. */
  readonly unpolled: number
  /** By how much the server's clock is set back, once. */
  readonly setBackMs: number
  /** How often the capacity changes. */
  readonly resizes: number
  /** The range of the new capacity. */
  readonly resizeTo: Range
}

/** The callers that want the lock. */
export interface Load {
  readonly clients: number
  readonly processes: number
  /** Everybody arrives within this time. */
  readonly arriveMs: number
  readonly holdMs: Range
  /** Share of holds of 2 to 6 s, which need renewals. */
  readonly longHolds: number
  readonly ttls: readonly number[]
  readonly kind: QueueKind
  readonly classes: number
  /** The first process queues before all others. */
  readonly firstEarly: boolean
  /** Share of waiters that are workers: a process each, over HTTP, woken only by a bridge. */
  readonly http: number
}

/** How processes behave. Any deviation is a naive form. */
export interface Behaviour {
  /** The safety timer. */
  readonly recheckMs: number
  readonly rechecks: boolean
  readonly windowMs: number
  readonly aliveMs: number
  /** How many of a process's first waiters a look names. */
  readonly named: number
  /** Whether a lease is dated from its request or from its answer. */
  readonly dating: 'sent' | 'answered'
  /** Whether a turn that nobody waits for is given back. */
  readonly unwanted: boolean
  /**
   * Whether a waiter is named by its process; if not, by the answer, so that its turn can come before it knows its
   * name.
   */
  readonly ownNames: boolean
  /** Whether the bridge keeps alive the waiters whose polls it holds. */
  readonly bridgeKeeps: boolean
  /** Whether an HTTP waiter lives for only one window until its first poll. */
  readonly shortFirst: boolean
  /** Whether, after two unanswered tries, a waiter only looks until something is answered. */
  readonly cautious: boolean
  /** Whether a leave is repeated while it stays unanswered. */
  readonly repeatsLeave: boolean
  /** Whether a waiter whose grant came and went enters again, under another acquisition id. */
  readonly drawsAgain: boolean
}

export type Range = readonly [number, number]

/** How much one request does in the runs: so little that it matters. */
export const bounds = { mostDropped: 4, mostTurns: 4, mostNamed: 5 } as const
/**
 * How many waiters one request may deal with in all. It names some, drops some, and gives turns: at most those that may
 * be out, and one more for each inbox that turns out to be dead, whose waiter is then dropped, or left for the next
 * request. Also, it may serve the waiter that asks, and drop the entry that this waiter had before.
 */
export const mostWork: number = bounds.mostNamed + 2 * bounds.mostDropped + 1 + bounds.mostTurns + 2

export const noFaults: Faults = {
  messageLoss: 0,
  requestLoss: 0,
  replyLoss: 0,
  late: 0,
  lateMs: 9_000,
  duplicate: 0,
  killed: 0,
  frozen: 0,
  freezes: 1,
  freezeMs: [2_000, 20_000],
  awakeMs: [300, 3_000],
  aborts: 0,
  plain: 0,
  tries: 0,
  uncounted: false,
  deaf: 0,
  mute: 0,
  wiped: false,
  unpolled: 0,
  setBackMs: 0,
  resizes: 0,
  resizeTo: [1, 4],
}

const exclusive: QueueKind = { name: 'exclusive', capacity: 1 }
export const semaphoreOf = (capacity: number): QueueKind => ({ name: 'semaphore', capacity })
export const readWrite: QueueKind = { name: 'read-write', capacity: 1_000_000 }

export const usualLoad: Load = {
  clients: 40,
  processes: 5,
  arriveMs: 3_000,
  holdMs: [5, 300],
  longHolds: 0.05,
  ttls: [300, 1_000, 3_000, 10_000],
  kind: exclusive,
  classes: 1,
  firstEarly: false,
  http: 0,
}

export const ruled: Behaviour = {
  recheckMs: mostRecheckMs / 2,
  rechecks: true,
  windowMs,
  aliveMs,
  named: bounds.mostNamed,
  dating: 'sent',
  unwanted: true,
  ownNames: true,
  bridgeKeeps: true,
  shortFirst: true,
  cautious: true,
  repeatsLeave: true,
  drawsAgain: true,
}
