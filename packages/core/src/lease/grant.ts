import type { LossReason } from '../errors.ts'
import type { RenewOutcome } from '../store/lease-store.ts'
import type { Passing } from '../store/pass-on.ts'
import type { Clock } from '../timing/clock.ts'
import { elapsedMs, type Instant, instant, remainingMs, type Validity } from '../timing/validity.ts'

/**
 * What the store granted: one token, how long to trust it, and how the grant ended.
 *
 * States: *held*, by one holder after another → *lost* (final, with its reason) or *ended* (given back). Renewal and loss
 * belong to the grant. A caller sees it as a `Lease`.
 */
export class Grant {
  declare readonly key: string
  declare readonly token: string
  /** The fence of its present holder. */
  declare fence: number
  /** When its present holder got the grant. */
  declare heldSince: Instant
  /** The ttl that its present holder asked for, in milliseconds. Scheduled renewals ask for it again. */
  declare ttlMs: number
  /** The caller has read the token, so somebody outside this process may know it. */
  tokenLeft = false
  /** Why the grant was lost. Undefined while it is held, and forever if it was given back in time. */
  declare lostBecause: LossReason | undefined
  /** The present holder's lease. It is notified once, when the grant is lost. */
  declare holder: { onLost(reason: LossReason): void } | undefined

  /** Its nested holds. `keep` is passed how the holder would end the grant, and returns whether they go on instead. */
  declare holds: { readonly hasNested: boolean; keep(endGrant: unknown): boolean } | undefined

  /** Set if its release may bring the next waiter of this process a new grant. */
  declare passing: Passing | undefined

  // The schedule of its renewals, in monotonic milliseconds:
  /** Whether the watchdog renews it. */
  renews = false
  /** When its next renewal is due, or the event `expiring` if it is not renewed. */
  dueMs: number = Infinity
  /** When the event `long-held` is due. */
  longHeldAtMs: number = Infinity
  /** When its `maxHold` is over. */
  holdUntilMs: number = Infinity
  /** A renewal is in flight or queued. Renewals of one grant never overlap. */
  renewing = false
  /** How many renewals in a row have got no answer. */
  unanswered = 0
  /** Why the last unanswered renewal got no answer. */
  trouble: unknown

  /** Index in the roster of watched grants. */
  place = 0

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

  /** How long the holder may still trust the grant, in milliseconds; 0 or less once it may not. */
  remainingMs(now: Instant = instant(this.#clock)): number {
    if (!this.#held) return 0
    return Math.min(remainingMs(now, this.#validity), this.holdUntilMs - now.monotonicMs)
  }

  /** Marks the grant as lost if its time is over. A late timer may not have noticed that yet. */
  check(now: Instant = instant(this.#clock)): void {
    if (this.remainingMs(now) > 0) return
    const silent = this.unanswered > 0 || this.renewing
    this.lose(this.holdUntilMs <= now.monotonicMs ? 'max-hold' : silent ? 'unreachable' : 'expired')
  }

  /**
   * Time until its expiry in the store, as far as we know, in milliseconds: its validity without the drift allowance.
   */
  expiresInMs(now: Instant = instant(this.#clock)): number {
    return this.#validity.ttlMs - this.sinceAnswerMs(now)
  }

  /** The age of the store's last answer about the grant, counted from when the request was sent, in milliseconds. */
  sinceAnswerMs(now: Instant = instant(this.#clock)): number {
    return elapsedMs(now, this.#validity.sentAt)
  }

  /** How long its present holder has had the grant, in milliseconds. */
  heldMs(now: Instant = instant(this.#clock)): number {
    return elapsedMs(now, this.heldSince)
  }

  /**
   * Applies the answer, on time or late, to a renewal that asked for `validity`. Answers can overtake each other, so
   * the one that extends furthest counts.
   */
  take(outcome: RenewOutcome, validity: Validity): void {
    if (outcome.type === 'gone' || outcome.type === 'superseded') this.lose(outcome.type)
    const now = instant(this.#clock)
    const further = remainingMs(now, validity) > remainingMs(now, this.#validity)
    if (outcome.type === 'renewed' && further) this.#validity = validity
  }

  /** Marks the grant as lost and notifies the holder, unless it has ended already. */
  lose(reason: LossReason): void {
    if (!this.#held) return
    this.#held = false
    this.lostBecause = reason
    this.holder?.onLost(reason)
  }

  /** Ends the grant without a loss. It cannot be lost after this. */
  end(): void {
    this.#held = false
  }
}
