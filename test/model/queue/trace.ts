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

/** What a run of the model asked of the memory store, in order, and what it answered: to be asked of another store. */
export type Trace = readonly TraceStep[]

export type TraceStep =
  /** From now on so many subscribers of an inbox are counted. At first nobody listens. */
  | { readonly type: 'subscribers'; readonly inbox: string; readonly count: number }
  /** The store was restarted without its data. */
  | { readonly type: 'wiped' }
  | TracedCall

export interface TracedCall {
  readonly type: 'call'
  /** The server's time, in whole milliseconds. It may be earlier than before. */
  readonly nowMs: number
  /** How long the entry of the lock has left before this call, by the model's time; null if there is none. Of several holders always null. */
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
