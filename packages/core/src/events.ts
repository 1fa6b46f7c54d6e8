import type { LossReason } from './errors.ts'
import type { ReleaseResult } from './store/lease-store.ts'

/** A lease begins. */
export interface AcquiredEvent {
  readonly type: 'acquired'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  /** How long the call took, in whole milliseconds. */
  readonly waitedMs: number
  /** How many store commands the call used; 0 if the lease was handed off within this process. */
  readonly commands: number
}

/** A call to `acquire`, `tryAcquire` or `withLock` was rejected. A bad option, and the `null` of `tryAcquire`, are not told. */
export interface AcquireFailedEvent {
  readonly type: 'acquire-failed'
  readonly key: string
  /**
   * - `timeout`: the lock was held, or granted too late, until the wait or the budget was over
   * - `unavailable`: the store gave no usable answer
   * - `refused`: the store said no for good, such as for a missing permission or a key that is not a lock
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

/** Somebody has the lock: the call waits, or gives up at once if it was told not to wait. Told once for each call. */
export interface ContendedEvent {
  readonly type: 'contended'
  readonly key: string
}

/** A lease was given back. Also told of one that was lost before. */
export interface ReleasedEvent {
  readonly type: 'released'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  /** What the store said. */
  readonly outcome: ReleaseResult
  /** How long the lease was held, in milliseconds. */
  readonly heldMs: number
}

/** The store refused to give a lease back. The lock frees itself when its ttl is over. */
export interface ReleaseRefusedEvent {
  readonly type: 'release-refused'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  /** The error with the store's own words, such as those for a user who may not `DEL`. */
  readonly cause: unknown
}

/** A lease ended before its holder gave it back. */
export interface LostEvent {
  readonly type: 'lost'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  readonly reason: LossReason
  /** The error behind the loss, if there is one. */
  readonly cause?: unknown
}

/** A lease without renewal has used 80 % of its ttl. */
export interface ExpiringEvent {
  readonly type: 'expiring'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  /** How long the lease may still be trusted, in milliseconds. */
  readonly remainingMs: number
}

/** Somebody in this process waits for a lease that this process holds. Told once for each holder. */
export interface WantedEvent {
  readonly type: 'wanted'
  readonly key: string
  /** The fencing token of the lease that is waited for. */
  readonly fence: number
}

/**
 * A lease has been held for `longHeld`. Told again each time that has doubled, and up to a second late. The promise of its
 * acquire may have lost a race, so that nobody has the lease.
 */
export interface LongHeldEvent {
  readonly type: 'long-held'
  readonly key: string
  /** The lease's fencing token. */
  readonly fence: number
  /** How long the lease has been held, in milliseconds. */
  readonly heldMs: number
}

/** A renewal got no answer. It is repeated until the lease's validity is over. */
export interface RenewalUnansweredEvent {
  readonly type: 'renewal-unanswered'
  readonly key: string
  /** The error behind it, if there is one. */
  readonly cause: unknown
}

/**
 * The notifier hears no releases, or not all. Waiters check by themselves until it does. Told when that begins, and again
 * when the cause changes.
 */
export interface DisconnectedEvent {
  readonly type: 'disconnected'
  /** Why: no connection, a subscription that was refused, or releases that were missed. */
  readonly cause: unknown
}

/** The notifier hears releases again. Told once after `disconnected`. */
export interface ReconnectedEvent {
  readonly type: 'reconnected'
}

/** The store may not announce releases: a permission for the channel is missing. Waiters check by themselves. Told once. */
export interface UnannouncedEvent {
  readonly type: 'unannounced'
  /** The first key whose release was not announced. */
  readonly key: string
}

/** What a locker tells of its own work, to `onEvent`. A listener that throws changes nothing. */
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
}

/** What an error that ended an acquire counts as, unless it is the caller's own. */
export const failureOf = ({ code, refused }: { readonly code?: string; readonly refused?: boolean }): AcquireFailure =>
  (!refused && failures[code as string]) || 'refused'

export type OnEvent = (event: LockerEvent) => void

/** What tells a listener whose errors are its own: whether it throws at once or later, that changes nothing of a lock. */
export function teller<T>(listener: ((told: T) => unknown) | undefined): (told: T) => void {
  const tell = async (told: T): Promise<unknown> => listener?.(told)
  return (told) => void tell(told).catch(() => undefined)
}

/** What tells of events, and only once that releases cannot be announced. */
export function emitter(onEvent: OnEvent | undefined): OnEvent {
  const tell = teller(onEvent)
  let toldUnannounced = false
  return (event) => {
    if (event.type === 'unannounced') {
      if (toldUnannounced) return
      toldUnannounced = true
    }
    tell(event)
  }
}
