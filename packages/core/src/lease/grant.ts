import type { LossReason } from '../errors.ts'
import type { RenewOutcome } from '../store/lease-store.ts'
import type { Clock } from '../timing/clock.ts'
import { elapsedMs, type Instant, instant, remainingMs, type Validity } from '../timing/validity.ts'

/**
 * What the store granted: one token, how long to trust it, and how it ended.
 *
 * States: *held*, by one holder after another → *lost* (final, with its reason) or *ended* (given back). Renewal and loss belong
 * to the grant. A caller sees it as a `Lease`.
 */
export class Grant {
  declare readonly key: string
  declare readonly token: string
  /** The present holder's. */
  declare fence: number
  /** When the present holder got it. */
  declare heldSince: Instant
  /** The ttl the present holder asked for, in milliseconds. Scheduled renewals ask for it again. */
  declare ttlMs: number
  /** Somebody outside this process may know the token. */
  tokenLeft = false
  /** Why it was lost. Undefined while it is held, and for good once it was given back in time. */
  declare lostBecause: LossReason | undefined
  /** Told once, when the grant is lost. */
  declare holder: { onLost(reason: LossReason): void } | undefined

  /** Its place in the schedule of `renewal.ts`: whether it is renewed. */
  renews = false
  /** When its next renewal is due, or the warning that it expires, in monotonic milliseconds. */
  dueMs: number = Infinity
  /** When to tell that it has been held for long, in monotonic milliseconds. */
  longHeldAtMs: number = Infinity
  /** When its `maxHold` is over, in monotonic milliseconds. */
  holdUntilMs: number = Infinity
  /** A renewal is under way, or waits for a free place. One renewal never overlaps another. */
  renewing = false
  /** Renewals without an answer since the last answer, and why the last of them had none. */
  unanswered = 0
  trouble: unknown

  readonly #clock: Clock
  #validity: Validity
  #held = true

  constructor(clock: Clock, key: string, token: string, fence: number, validity: Validity) {
    this.#clock = clock
    this.key = key
    this.token = token
    this.fence = fence
    this.ttlMs = validity.ttlMs
    this.heldSince = validity.sentAt
    this.#validity = validity
  }

  /** How long the holder may still trust it, in milliseconds; not above 0 when it may not. */
  remainingMs(now: Instant = instant(this.#clock)): number {
    if (!this.#held) return 0
    return Math.min(remainingMs(now, this.#validity), this.holdUntilMs - now.monotonicMs)
  }

  /** Loses it if its time is over, which a late timer may not have noticed yet. */
  check(now: Instant = instant(this.#clock)): void {
    if (this.remainingMs(now) > 0) return
    const silent = this.unanswered > 0 || this.renewing
    this.lose(this.holdUntilMs <= now.monotonicMs ? 'max-hold' : silent ? 'unreachable' : 'expired')
  }

  /** When the store will let go, as far as we know: the validity without its drift allowance, in milliseconds. */
  expiresInMs(now: Instant = instant(this.#clock)): number {
    return this.#validity.ttlMs - this.sinceAnswerMs(now)
  }

  /** For how long the store's last answer about it has been out of date, in milliseconds. */
  sinceAnswerMs(now: Instant = instant(this.#clock)): number {
    return elapsedMs(now, this.#validity.sentAt)
  }

  /** For how long its present holder has had it, in milliseconds. */
  heldMs(now: Instant = instant(this.#clock)): number {
    return elapsedMs(now, this.heldSince)
  }

  /**
   * Takes in the answer, in time or late, to a renewal that asked for `validity`. Answers can overtake each other: the
   * one that reaches furthest counts.
   */
  take(outcome: RenewOutcome, validity: Validity): void {
    if (outcome.type === 'gone' || outcome.type === 'superseded') this.lose(outcome.type)
    const now = instant(this.#clock)
    const further = remainingMs(now, validity) > remainingMs(now, this.#validity)
    if (outcome.type === 'renewed' && further) this.#validity = validity
  }

  /** Ends it by loss, unless it has ended already. */
  lose(reason: LossReason): void {
    if (!this.#held) return
    this.#held = false
    this.lostBecause = reason
    this.holder?.onLost(reason)
  }

  /** Ends it without loss: from here on nothing can be lost any more. */
  end(): void {
    this.#held = false
  }
}
