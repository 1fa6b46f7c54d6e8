import { renewalLanes } from '#renewal-lanes'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { failed, retryAfterMs } from '../store/answered.ts'
import { commandDeadlineMs } from '../store/ask.ts'
import type { RenewOutcome } from '../store/lease-store.ts'
import { doublingMs, jitter } from '../timing/backoff.ts'
import { deadline } from '../timing/deadline.ts'
import { type Instant, instant } from '../timing/validity.ts'
import { firstRenewalPauseMs, leastRenewalPauseMs, longHeldWithinMs, warnAt } from './figures.ts'
import type { Grant } from './grant.ts'
import { outcomeAt, renewGrants } from './renew.ts'

/**
 * The watchdog: renews many grants in few commands and notices when one is lost.
 *
 * A renewal is due a third of the ttl after the last answered one, and never while one is under way. When one falls due,
 * all that would within a quarter of their interval join it. Jitter is drawn per batch, so what was renewed together
 * stays together. An unanswered renewal is not a loss: it is repeated until the grant's own validity is over. One timer
 * serves all grants; it does not keep a process alive.
 */
export class Renewal {
  readonly #context: Context
  readonly #watched = new Set<Grant>()
  readonly #send: (due: readonly Grant[]) => void
  #timerAtMs = Infinity
  #cancelTimer: (() => void) | undefined

  constructor(context: Context) {
    this.#context = context
    this.#send = renewalLanes(context, (batch) => this.#renew(batch))
  }

  /** Watches a grant's validity and, unless the plan says no, renews it; at most until its `maxHold` is over. */
  watch(grant: Grant, { renew, maxHoldMs = Infinity, longHeldMs }: Plan): void {
    const now = instant(this.#context.clock)
    const sinceMs = now.monotonicMs - grant.heldMs(now)
    // Leases taken in a burst would renew in a burst: the first renewal comes anywhere in the second half of its time.
    const firstMs = renew ? now.monotonicMs + (grant.ttlMs / 3) * (0.5 + jitter() / 2) : sinceMs + grant.ttlMs * warnAt
    // A grant that was handed off keeps the time it had, or it might be put off again and again.
    if (!grant.renewing) grant.dueMs = Math.min(grant.dueMs, firstMs)
    grant.renews = renew
    grant.holdUntilMs = sinceMs + maxHoldMs
    grant.longHeldAtMs = sinceMs + longHeldMs
    this.#watched.add(grant)
    this.#arm(grant, now)
  }

  /** Takes a grant off the schedule. */
  forget(grant: Grant): void {
    this.#watched.delete(grant)
    if (this.#watched.size === 0) this.#disarm()
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#timerAtMs = Infinity
  }

  /** Sees to it that the timer does not fire later than this grant needs it. */
  #arm(grant: Grant, now: Instant): void {
    const toldAtMs = Math.ceil(grant.longHeldAtMs / longHeldWithinMs) * longHeldWithinMs
    const atMs = Math.min(grant.dueMs, now.monotonicMs + grant.remainingMs(now), toldAtMs)
    if (atMs >= this.#timerAtMs) return
    this.#disarm()
    this.#timerAtMs = atMs
    const delayMs = Math.max(1, Math.ceil(atMs - now.monotonicMs))
    this.#cancelTimer = this.#context.background.schedule(() => this.#onTimer(), delayMs, 'background')
  }

  /** Goes through all grants: which are lost, what must be told, which are renewed now. */
  #onTimer(): void {
    this.#disarm()
    const now = instant(this.#context.clock)
    const nowMs = now.monotonicMs
    const joining: Grant[] = []
    for (const grant of this.#watched) {
      grant.check(now)
      if (!this.#watched.has(grant)) continue
      if (grant.longHeldAtMs <= nowMs) this.#tellLongHeld(grant, now)
      if (!grant.renews && grant.dueMs <= nowMs) this.#warn(grant, now)
      else if (grant.renews && grant.dueMs <= nowMs + grant.ttlMs / 12) joining.push(grant)
    }
    if (joining.some(({ dueMs }) => dueMs <= nowMs)) {
      for (const grant of joining) {
        grant.dueMs = Infinity
        grant.renewing = true
      }
      this.#send(joining)
    }
    for (const grant of this.#watched) this.#arm(grant, now)
  }

  #tellLongHeld(grant: Grant, now: Instant): void {
    const { key, fence } = grant
    const heldMs = grant.heldMs(now)
    grant.longHeldAtMs = now.monotonicMs + heldMs
    this.#context.emit({ type: 'long-held', key, fence, heldMs })
  }

  /** Nobody renews this one, and most of its time is over. */
  #warn(grant: Grant, now: Instant): void {
    const { key, fence } = grant
    // Its holder may have extended it since.
    const earlyMs = grant.expiresInMs(now) - grant.ttlMs * (1 - warnAt)
    grant.dueMs = earlyMs > 1 ? now.monotonicMs + earlyMs : Infinity
    if (earlyMs <= 1) this.#context.emit({ type: 'expiring', key, fence, remainingMs: grant.remainingMs(now) })
  }

  /** Renews those of a batch that are still held, and sets when each comes next. */
  async #renew(batch: readonly Grant[]): Promise<void> {
    const { clock } = this.#context
    const grants = batch.filter((grant) => this.#watched.has(grant))
    const [first] = grants
    if (!first) return
    // It is the schedule that repeats it, so an attempt has the time of one of two.
    const leftMs = deadline(clock, commandDeadlineMs(this.#context, first.ttlMs) / 2)
    const options = { once: true, leftMs }
    const { outcome } = await renewGrants(this.#context, grants, ({ ttlMs }) => ttlMs, Infinity, options).catch(
      failed(this.#context),
    )

    const now = instant(clock)
    const spread = 0.9 + jitter() / 5
    for (const [index, grant] of grants.entries()) {
      grant.renewing = false
      if (!this.#watched.has(grant)) continue
      grant.dueMs = now.monotonicMs + this.#untilNextMs(grant, outcomeAt(outcome, index), spread)
      this.#arm(grant, now)
    }
  }

  /** How long after this outcome the next renewal is due, in milliseconds. Tells of a renewal without an answer. */
  #untilNextMs(grant: Grant, outcome: RenewOutcome, spread: number): number {
    const intervalMs = grant.ttlMs / 3
    if (outcome.type === 'renewed') {
      grant.unanswered = 0
      return intervalMs * spread
    }
    const { error, cause } = outcome as { error?: unknown; cause?: unknown }
    const restMs = doublingMs(firstRenewalPauseMs, grant.ttlMs / 12, grant.unanswered++)
    grant.trouble = error ?? cause
    this.#context.emit({ type: 'renewal-unanswered', key: grant.key, cause: grant.trouble })
    // No longer than from one renewal to the next: the lease must not end without another try.
    return Math.max(leastRenewalPauseMs, restMs, Math.min(retryAfterMs(outcome), intervalMs))
  }
}
