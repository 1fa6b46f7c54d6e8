import type { WaitStrategy } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'

/**
 * The notifier port: it hints that a lock may be free.
 *
 * A notification is never a grant. It may be lost, late or spurious, so no wait relies on notifications alone: every waiter
 * also checks by itself after `recheckMs`.
 */
export interface ReleaseNotifier {
  /**
   * Whether the notifier checks by itself: once it listens, it compares the store's state with the waiter's cursor and
   * signals a change. If it does not, the waiter tries again after subscribing, which closes the gap between its first
   * try and the subscription.
   */
  readonly checks: boolean
  /** How long a waiter may rely on the notifier before the waiter checks by itself, in milliseconds. */
  readonly recheckMs: number
  /** The prefix of the store's keys, if the notifier needs it. `createLocker` refuses a store with a different one. */
  readonly prefix?: string | undefined
  /**
   * Starts listening for one key. No I/O before the first call; a closed subscription leaves nothing behind.
   *
   * @param forResult see `WaitPlan`
   */
  subscribe(key: string, cursor: string, forResult?: boolean): Subscription
  /**
   * Makes the waiter of one acquire. Every notifier returns `notifiedWaiter(this, clock, plan)`. It is a method so that
   * programs without a notifier do not ship that function.
   */
  waiter(clock: Clock, plan: WaitPlan): Waiter
  /**
   * Calls back when the notifier becomes disconnected, when the cause changes, and when it hears releases again. A
   * listener that registers while the notifier is disconnected is called at once. Returns a function that withdraws the
   * listener.
   */
  onStateChange(listener: (state: NotifierState) => void): () => void
  /** Ends every subscription. */
  close(): Promise<void>
}

/** Whether a notifier hears releases. */
export type NotifierState =
  /** It hears no releases, or misses those of some keys that are waited for. `cause` says why, without credentials. */
  | { readonly type: 'disconnected'; readonly cause: unknown }
  /** It hears releases again. */
  | { readonly type: 'reconnected' }

export interface Subscription {
  /** Resolves when releases are being heard, or when that turns out to be impossible for now. Never rejects. */
  readonly ready: Promise<void>
  /** Whether releases are being heard at this moment. */
  readonly live: boolean
  /**
   * Whether the notifier watches the present holder at this moment, so that it signals the end of the lease however it
   * comes about; default: the notifier's `checks`. If it does not, the waiter checks when the holder's remaining time
   * is over.
   */
  readonly checks?: boolean | undefined
  /** How many signals there have been. A level, not an edge, so that a signal between two waits is not lost. */
  readonly signals: number
  /**
   * Calls back once: when `signals` exceeds `seen`, or at once if it already does. Returns a function that withdraws
   * the callback.
   */
  onSignal(seen: number, callback: () => void): () => void
  /**
   * The waiter has found that the holder with this cursor gave the lock back, although no signal came. So releases may
   * go unheard while the subscription seems `live`. A notifier that cannot lose messages, or that checks by itself, may
   * ignore this hint.
   */
  suspect(cursor: string): void
  close(): void
}

/** Paces one acquire: how long it pauses between its tries, and what ends a pause early. */
export interface Waiter {
  /**
   * Pauses after a contended try, until another try is worthwhile or no time is left.
   *
   * @throws the signal's own reason when it is aborted
   */
  pause(contention: Contention, leftMs: () => number, signal: AbortSignal): Promise<void>
  /** Ends the present pause, or the next one: somebody in this process knows that another try is worthwhile. */
  wake(): void
  /** The last try was granted. */
  granted?(): void
  /** Ends the waiter and leaves nothing behind. */
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
  /** How long to rely on the notifier, in milliseconds; undefined for the notifier's own `recheckMs`. */
  readonly recheckMs: number | undefined
  /**
   * Whether it waits for what the holder leaves behind rather than for the lock, so that a release matters to all who
   * wait like this. A notifier that otherwise tells only one waiter of each release tells all of these; default false.
   */
  readonly forResult?: boolean
}
