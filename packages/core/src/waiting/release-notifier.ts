import type { WaitStrategy } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'

/**
 * The notifier port: hints that a lease may be free.
 *
 * A notification is never a grant. It may be lost, late or for nothing, so no wait relies on one alone: every waiter
 * also checks again by itself after `recheckMs`.
 */
export interface ReleaseNotifier {
  /**
   * Whether it compares the store's state with the waiter's cursor by itself once it listens, and signals a change. If
   * it does not, the waiter tries again after subscribing, which closes the gap between its first try and the
   * subscription.
   */
  readonly checks: boolean
  /** How long a waiter may rely on it before it checks by itself, in milliseconds. */
  readonly recheckMs: number
  /** The prefix of the store's keys, if it must know it. `createLocker` refuses a store with another. */
  readonly prefix?: string | undefined
  /** Begins to listen for one key. Does no I/O before the call; nothing remains after the subscription's `close`. */
  subscribe(key: string, cursor: string): Subscription
  /**
   * Makes what one acquire waits with. Every notifier answers `notifiedWaiter(this, clock, plan)`; it is asked for it so
   * that a program without a notifier does not ship that function.
   */
  waiter(clock: Clock, plan: WaitPlan): Waiter
  /**
   * Calls back when the notifier ceases to hear releases, when the cause of that changes, and when it hears them again. A
   * listener that registers while it is disconnected is told at once. Returns a function that withdraws the callback.
   */
  onStateChange(listener: (state: NotifierState) => void): () => void
  /** Ends every subscription. */
  close(): Promise<void>
}

/** Whether a notifier hears releases. */
export type NotifierState =
  /** It hears nothing, or not every key that is waited for; `cause` says why, without credentials. */
  | { readonly type: 'disconnected'; readonly cause: unknown }
  /** It hears releases again. */
  | { readonly type: 'reconnected' }

export interface Subscription {
  /** Settles once releases are being heard, or when that turned out to be impossible for now. Never rejects. */
  readonly ready: Promise<void>
  /** Whether releases are being heard at this moment. */
  readonly live: boolean
  /**
   * Whether the notifier watches the present holder at this moment, so that it tells of its end whatever that is; by default as
   * the notifier `checks`. If not, the waiter checks when the holder's remaining time is over.
   */
  readonly checks?: boolean | undefined
  /** A count of signals so far: a level, not an edge, so a signal between two waits is not lost. */
  readonly signals: number
  /** Calls back once when `signals` has moved beyond `seen`, at once if it has already; returns what withdraws it. */
  onSignal(seen: number, callback: () => void): () => void
  /**
   * Whoever waits has found that the holder with this cursor gave the lock back, and no signal has come: what is taken to
   * be heard may not be. A hint: a notifier that cannot lose a message, or checks for itself, may ignore it.
   */
  suspect(cursor: string): void
  close(): void
}

/** One acquire between its tries: how long it pauses, and what may end the pause sooner. */
export interface Waiter {
  /**
   * Pauses after a contended try, until another try is worth it or no time is left.
   *
   * @throws the signal's own reason when it is aborted.
   */
  pause(contention: Contention, leftMs: () => number, signal: AbortSignal): Promise<void>
  /** Ends the present pause, or the next: somebody in this process knows that a try is worth it. */
  wake(): void
  /** The last try was granted: the lock has changed hands. */
  granted?(): void
  /** Nothing of this waiter remains. */
  close(): void
}

/** What a contended try tells the waiter. */
export interface Contention {
  readonly cursor: string
  readonly expiresInMs: number | null
}

/** What an acquire tells its waiter. */
export interface WaitPlan {
  readonly key: string
  readonly strategy: WaitStrategy
  /** How long to rely on the notifier; undefined for as long as that says. */
  readonly recheckMs: number | undefined
}
