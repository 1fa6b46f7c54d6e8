import type { LossReason } from './errors.ts'
import type { ReleaseResult } from './store/lease-store.ts'

/** What a locker tells about its own work, to `onEvent`. A listener that throws changes nothing. */
export type LockerEvent =
  | {
      readonly type: 'acquired'
      readonly key: string
      readonly fence: number
      readonly waitedMs: number
      readonly commands: number
    }
  /** Someone has the lock: the call waits, or gives up at once if it was told not to wait. Told once for each call. */
  | { readonly type: 'contended'; readonly key: string }
  | {
      readonly type: 'released'
      readonly key: string
      readonly fence: number
      readonly outcome: ReleaseResult
      readonly heldMs: number
    }
  /** A lease ended before its holder gave it back; `cause` is the error behind it, if there is one. */
  | {
      readonly type: 'lost'
      readonly key: string
      readonly fence: number
      readonly reason: LossReason
      readonly cause?: unknown
    }
  /** A lease without renewal has used 80 % of its ttl. */
  | {
      readonly type: 'expiring'
      readonly key: string
      readonly fence: number
      readonly remainingMs: number
    }
  /** Somebody in this process waits for a lease that this process holds. Told once for each holder. */
  | { readonly type: 'wanted'; readonly key: string; readonly fence: number }
  /**
   * A lease has been held for `longHeld`, and again each time that has doubled; `heldMs` says for how long, in milliseconds.
   * Its acquire may have been raced against something else, so that nobody has it.
   */
  | { readonly type: 'long-held'; readonly key: string; readonly fence: number; readonly heldMs: number }
  /** A renewal stayed without an answer; it is repeated until the lease's validity is over. */
  | { readonly type: 'renewal-unanswered'; readonly key: string; readonly cause: unknown }
  /** The store refused to give a lease back, with its reason; the lock frees itself when its ttl is over. */
  | {
      readonly type: 'release-refused'
      readonly key: string
      readonly fence: number
      readonly cause: unknown
    }
  /**
   * Releases are not heard, and why: the notifier may not subscribe, hears nothing, or has another prefix than the store.
   * Waiters check for themselves. Told once, until they are heard again.
   */
  | { readonly type: 'unheard'; readonly cause: unknown }
  /** Releases cannot be announced (no permission for the channel); waiters must check by themselves. Told once. */
  | { readonly type: 'unannounced'; readonly key: string }

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
