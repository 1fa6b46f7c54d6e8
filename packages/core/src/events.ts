import type { LossReason } from './errors.ts'
import type { ReleaseResult } from './store/lease-store.ts'

/** A lock was granted: a lease begins. */
export interface AcquiredEvent {
  readonly type: 'acquired'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  /** How long the call took, in whole milliseconds. */
  readonly waitedMs: number
  /** How many store commands the call used; 0 if the lease was handed off within this process. */
  readonly commands: number
}

/**
 * A call to `acquire`, `tryAcquire`, `withLock` or `resume` got no lease and rejected. Not emitted for a bad option,
 * when `tryAcquire` returns null, or when `resume` finds the lease lost.
 */
export interface AcquireFailedEvent {
  readonly type: 'acquire-failed'
  readonly key: string
  /**
   * - `timeout`: the lock was held, or granted too late, until the wait or the budget was over
   * - `unavailable`: the store gave no usable answer
   * - `refused`: the store refused for good, such as for a missing permission or a key that is not a lock
   * - `aborted`: the caller's signal was aborted
   * - `closed`: the locker was closed
   */
  readonly reason: AcquireFailure
  /** How long the call took, in whole milliseconds. */
  readonly waitedMs: number
  /** How many store commands the call used. */
  readonly commands: number
  /** What the call rejected with. */
  readonly cause: unknown
}

export type AcquireFailure = 'timeout' | 'unavailable' | 'refused' | 'aborted' | 'closed'

/** Somebody has the lock. The call waits, or ends at once if it may not wait. Emitted once per call. */
export interface ContendedEvent {
  readonly type: 'contended'
  readonly key: string
}

/** A hold has ended: its lease was given back or detached. Also emitted for a lease that was lost before. */
export interface ReleasedEvent {
  readonly type: 'released'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  /** How the release ended; `detached` if the lock was left to whoever resumes the lease. */
  readonly outcome: ReleaseResult
  /** How long the lease was held, in milliseconds. */
  readonly heldMs: number
}

/** The store refused to release a lease. The lock is free when the ttl runs out. */
export interface ReleaseRefusedEvent {
  readonly type: 'release-refused'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  /** The error with the store's own message, such as that the user may not `DEL`. */
  readonly cause: unknown
}

/** A lease ended before its holder gave it back. */
export interface LostEvent {
  readonly type: 'lost'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  readonly reason: LossReason
  /** The underlying error, if there is one. */
  readonly cause?: unknown
}

/** A lease without renewal has used 80 % of its ttl. */
export interface ExpiringEvent {
  readonly type: 'expiring'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  /** How long the lease may still be trusted, in milliseconds. */
  readonly remainingMs: number
}

/** Another call of this process waits for a lease that this process holds. Emitted once per holder. */
export interface WantedEvent {
  readonly type: 'wanted'
  readonly key: string
  /** The fence of the lease that is waited for. */
  readonly fence: number
}

/**
 * A lease has been held for `longHeld`. Emitted again each time that duration doubles, up to a second late. A common
 * cause is an acquire whose promise lost a race, so that nobody has the lease.
 */
export interface LongHeldEvent {
  readonly type: 'long-held'
  readonly key: string
  /** The lease's fence. */
  readonly fence: number
  /** How long the lease has been held, in milliseconds. */
  readonly heldMs: number
}

/** A renewal got no answer. It is repeated until the lease's validity is over. */
export interface RenewalUnansweredEvent {
  readonly type: 'renewal-unanswered'
  readonly key: string
  /** The underlying error, if there is one. */
  readonly cause: unknown
}

/**
 * The notifier hears no releases, or not all of them. Until it does, waiters check by themselves. Emitted when this
 * begins and again when the cause changes.
 */
export interface DisconnectedEvent {
  readonly type: 'disconnected'
  /** Why: no connection, a subscription that was refused, or releases that were missed. */
  readonly cause: unknown
}

/** The notifier hears releases again. Emitted once after `disconnected`. */
export interface ReconnectedEvent {
  readonly type: 'reconnected'
}

/**
 * The store is not allowed to announce releases: a permission for the channel is missing. Waiters check by themselves.
 * Emitted once per locker.
 */
export interface UnannouncedEvent {
  readonly type: 'unannounced'
  /** The first key whose release was not announced. */
  readonly key: string
}

/** What a locker reports to `onEvent` about its own work. Errors that the listener throws are ignored. */
export type LockerEvent =
  | AcquiredEvent
  | AcquireFailedEvent
  | ContendedEvent
  | ReleasedEvent
  | ReleaseRefusedEvent
  | LostEvent
  | ExpiringEvent
  | WantedEvent
  | LongHeldEvent
  | RenewalUnansweredEvent
  | DisconnectedEvent
  | ReconnectedEvent
  | UnannouncedEvent

const failures: Readonly<Record<string, AcquireFailure>> = {
  ACQUIRE_TIMEOUT: 'timeout',
  STORE_UNAVAILABLE: 'unavailable',
  CLOSED: 'closed',
  KIND_MISMATCH: 'refused',
}

/**
 * The reason to report for an acquire's error. Undefined for the caller's mistakes: a bad option, a strategy that
 * throws.
 */
export const failureOf = (error: unknown): AcquireFailure | undefined => {
  const { code, refused } = Object(error) as { readonly code?: string; readonly refused?: boolean }
  return refused ? 'refused' : failures[code as string]
}

export type OnEvent = (event: LockerEvent) => void

/** Makes a function that calls a listener and drops its errors, sync or async: they must not disturb a lock. */
export function teller<T>(listener: ((value: T) => unknown) | undefined): (value: T) => void {
  const tell = async (value: T): Promise<unknown> => listener?.(value)
  return (value) => void tell(value).catch(() => undefined)
}

/** Makes a function that emits events, `unannounced` only once. */
export function emitter(onEvent: OnEvent | undefined): OnEvent | undefined {
  if (!onEvent) return undefined
  const tell = teller(onEvent)
  let emittedUnannounced = false
  return (event) => {
    if (event.type === 'unannounced') {
      if (emittedUnannounced) return
      emittedUnannounced = true
    }
    tell(event)
  }
}
