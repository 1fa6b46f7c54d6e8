import type { Clock } from '../timing/clock.ts'
import type { Span } from '../timing/span.ts'
import type { Instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import type { Unknown } from './lease-store.ts'

/** The store to ask, and the clock that times it. */
export interface Asking {
  readonly store: { readonly commandDeadlineMs: number }
  readonly clock: Clock
}

/**
 * How long a store command may stay unanswered, retries included: the store's own deadline, and at most a third of the ttl.
 */
export const commandDeadlineMs = ({ store }: Asking, ttlMs: number): number =>
  Math.min(store.commandDeadlineMs, ttlMs / 3)

/** The time until which a store wants to be asked nothing, in monotonic milliseconds. */
export interface Quiet {
  quietUntilMs: number
}

/** A request that is repeated until it is answered, with callbacks for its caller meanwhile. */
export interface Question<O> {
  /** Sends the request once. The attempt must be settled or rejected later. */
  send(attempt: Attempt<O>): void
  /** Interprets an answer, on time or late. Called once for each attempt that is settled. */
  read?(outcome: O | Unknown | undefined, attempt: Attempt<O>): O | Unknown
  /** The time left for all attempts, in milliseconds; default one command deadline from the start. */
  leftMs?(now: Instant): number
  /** Whether there may be another attempt; default yes. */
  mayRepeat?(): boolean
  /** Ends the question early. */
  readonly span?: Span | undefined
  /** Makes a single attempt; default false. */
  readonly once?: boolean | undefined
  /** Shared by several requests: when the store asks one of them for a quiet time, the others respect it, too. */
  readonly quiet?: Quiet | undefined
  /** An attempt has been sent. */
  onSent?(): void
  /** An attempt got no usable answer. Not called if it was only cut short because time was up. */
  onSilence?(failure: Unknown): void
  /** An answer came after the question had ended. */
  onLate?(outcome: O, sentAt: Instant): void
}
