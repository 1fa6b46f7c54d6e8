import type {
  AcquireOutcome,
  AcquireRequest,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
  RenewRequest,
} from '@leasehold/core/adapter'
import type {
  HeldPermitsRequest,
  LeaveOutcome,
  LeaveRequest,
  LookOutcome,
  LookRequest,
  QueuedAcquireOutcome,
  QueuedAcquireRequest,
  QueueKind,
  ReleasePermitsRequest,
  ResizeOutcome,
} from '../../../packages/core/src/store/queue.ts'

/** The requests of a model run to the memory store, in order, and its answers: to be replayed on another store. */
export type Trace = readonly TraceStep[]

export type TraceStep =
  /** From now on `count` subscribers of an inbox are counted. At first there are none. */
  | { readonly type: 'subscribers'; readonly inbox: string; readonly count: number }
  /** The store was restarted without its data. */
  | { readonly type: 'wiped' }
  | TracedCall

export interface TracedCall {
  readonly type: 'call'
  /** The server's time, in whole milliseconds. It may be earlier than before. */
  readonly nowMs: number
  /**
   * How long the lock's entry has left before this call, by the model's time; null if there is none. Always null for a
   * lock with several holders.
   */
  readonly lockLeftMs: number | null
  readonly asked: Asked
}

/** A request and its answer, by the ports' names. `plain` requests are those of `LeaseStore`. */
export type Asked =
  | { readonly verb: 'acquire'; readonly request: QueuedAcquireRequest; readonly reply: QueuedAcquireOutcome }
  | { readonly verb: 'look'; readonly request: LookRequest; readonly reply: LookOutcome }
  | { readonly verb: 'leave'; readonly request: LeaveRequest; readonly reply: LeaveOutcome }
  | { readonly verb: 'renew'; readonly request: HeldPermitsRequest; readonly reply: RenewOutcome }
  | { readonly verb: 'release'; readonly request: ReleasePermitsRequest; readonly reply: ReleaseOutcome }
  | {
      readonly verb: 'resize'
      readonly request: { readonly key: string; readonly kind: QueueKind }
      readonly reply: ResizeOutcome
    }
  | { readonly verb: 'plain acquire'; readonly request: AcquireRequest; readonly reply: AcquireOutcome }
  | { readonly verb: 'plain renew'; readonly request: RenewRequest; readonly reply: RenewOutcome }
  | { readonly verb: 'plain release'; readonly request: ReleaseRequest; readonly reply: ReleaseOutcome }
