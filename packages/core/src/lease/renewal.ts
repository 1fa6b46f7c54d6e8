import { renewalLanes } from '#renewal-lanes'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { Roster } from '../roster.ts'
import { failed, retryAfterMs } from '../store/answered.ts'
import type { RenewOutcome } from '../store/lease-store.ts'
import { commandDeadlineMs } from '../store/question.ts'
import { doublingMs, jitter } from '../timing/backoff.ts'
import { deadline } from '../timing/deadline.ts'
import { StandingTimer } from '../timing/standing-timer.ts'
import { type Instant, instant } from '../timing/validity.ts'
import { firstRenewalPauseMs, leastRenewalPauseMs, longHeldWithinMs, warnAt } from './figures.ts'
import type { Grant } from './grant.ts'
import { type AskForTime, outcomeAt, renewGrants } from './renew.ts'

/**
 * The watchdog: renews many grants in few commands and notices when one is lost.
 *
 * A renewal is due a third of the ttl after the last answered one, and never while one is in flight. When a renewal
 * falls due, it takes along all grants that would fall due within a quarter of their interval. All of them share one
 * jitter, however many commands they take, so grants that were renewed together stay together. An unanswered renewal is
 * not a loss: it is repeated until the grant's own validity is over. One timer serves all grants. It does not keep the
 * process alive.
 */
export class Renewal {
  readonly #context: Context
  readonly #watched = new Roster<Grant>()
  readonly #send: (due: readonly Grant[]) => void
  readonly #ask: AskForTime
  readonly #timer: StandingTimer
  /** The jitter of the grants renewed last: a factor of their next interval. */
  #spread = 1

  /**
   * @param isJoint whether it serves all grants of a locker, not only those of one call
   * @param ask     asks for more time; by default it asks the store
   */
  constructor(context: Context, isJoint = false, ask: AskForTime = renewGrants) {
    this.#context = context
    this.#ask = ask
    this.#timer = new StandingTimer(context.background, () => this.#onTimer(), isJoint ? 'standing' : 'background')
    this.#send = renewalLanes(
      context,
      (batch) => this.#renew(batch),
      (grant) => this.#watched.has(grant),
    )
  }

  /** Watches a grant's validity and, unless the plan says otherwise, renews it, though not beyond its `maxHold`. */
  watch(
    grant: Grant,
    { renew, maxHoldMs = Infinity, longHeldMs }: Plan,
    now: Instant = instant(this.#context.clock),
  ): void {
    const sinceMs = now.monotonicMs - grant.heldMs(now)
    // The first renewal comes anywhere in the second half of its interval. Otherwise bursts of leases renew in bursts.
    const firstMs = renew ? now.monotonicMs + (grant.ttlMs / 3) * (0.5 + jitter() / 2) : sinceMs + grant.ttlMs * warnAt
    // A grant that was handed off keeps its due time. Otherwise hand-offs could put off its renewal again and again.
    if (!grant.renewing) grant.dueMs = Math.min(grant.dueMs, firstMs)
    grant.renews = !!renew
    grant.holdUntilMs = sinceMs + maxHoldMs
    grant.longHeldAtMs = sinceMs + longHeldMs
    this.#watched.add(grant)
    this.#arm(grant, now)
  }

  /** Takes a grant off the schedule. */
  forget(grant: Grant): void {
    this.#watched.delete(grant)
    if (this.#watched.size === 0) this.#timer.rest()
  }

  /** Ensures that the timer fires no later than this grant needs it. */
  #arm(grant: Grant, now: Instant): void {
    const longHeldAtMs = Math.ceil(grant.longHeldAtMs / longHeldWithinMs) * longHeldWithinMs
    const atMs = Math.min(grant.dueMs, now.monotonicMs + grant.remainingMs(now), longHeldAtMs)
    this.#timer.setBy(atMs, now.monotonicMs)
  }

  /** Goes through all grants: marks lost ones, emits what is due, and renews those that are due. */
  #onTimer(): void {
    const now = instant(this.#context.clock)
    const nowMs = now.monotonicMs
    const joining: Grant[] = []
    let isDue = false
    for (const grant of this.#watched.all()) {
      grant.check(now)
      if (this.#watched.has(grant) && grant.longHeldAtMs <= nowMs) this.#emitLongHeld(grant, now)
      // It was lost, or a listener released it: then no renewal may follow.
      if (!this.#watched.has(grant)) continue
      if (grant.renews) {
        isDue ||= grant.dueMs <= nowMs
        if (grant.dueMs <= nowMs + grant.ttlMs / 12) joining.push(grant)
      } else if (grant.dueMs <= nowMs) this.#emitExpiring(grant, now)
    }
    if (isDue) {
      this.#spread = 0.9 + jitter() / 5
      for (const grant of joining) {
        grant.dueMs = Infinity
        grant.renewing = true
      }
      this.#send(joining)
    }
    for (const grant of this.#watched.all()) this.#arm(grant, now)
  }

  #emitLongHeld(grant: Grant, now: Instant): void {
    const { key, fence } = grant
    const heldMs = grant.heldMs(now)
    grant.longHeldAtMs = now.monotonicMs + heldMs
    this.#context.emit?.({ type: 'long-held', key, fence, heldMs: Math.round(heldMs) })
  }

  /** Emits `expiring`: most of the time of a grant without renewal is over. */
  #emitExpiring(grant: Grant, now: Instant): void {
    const { key, fence } = grant
    // Its holder may have extended it since.
    const earlyMs = grant.expiresInMs(now) - grant.ttlMs * (1 - warnAt)
    grant.dueMs = earlyMs > 1 ? now.monotonicMs + earlyMs : Infinity
    if (earlyMs <= 1) this.#context.emit?.({ type: 'expiring', key, fence, remainingMs: grant.remainingMs(now) })
  }

  /** Renews some grants with one request, the shortest ttl first, and sets when each is due next. */
  async #renew(grants: readonly Grant[]): Promise<void> {
    const { clock } = this.#context
    const [{ ttlMs }] = grants as [Grant]
    // The schedule repeats it, so each attempt gets half of a command deadline.
    const leftMs = deadline(clock, commandDeadlineMs(this.#context, ttlMs) / 2)
    const options = { once: true, leftMs }
    const { outcome } = await this.#ask(this.#context, grants, ({ ttlMs }) => ttlMs, Infinity, options).catch(
      failed(this.#context),
    )

    const now = instant(clock)
    for (const [index, grant] of grants.entries()) {
      grant.renewing = false
      if (!this.#watched.has(grant)) continue
      grant.dueMs = now.monotonicMs + this.#untilNextMs(grant, outcomeAt(outcome, index), now)
      this.#arm(grant, now)
    }
  }

  /** Time from this outcome to the next renewal, in milliseconds. Emits `renewal-unanswered` if there was no answer. */
  #untilNextMs(grant: Grant, outcome: RenewOutcome, now: Instant): number {
    const intervalMs = grant.ttlMs / 3
    if (outcome.type === 'renewed') {
      grant.unanswered = 0
      grant.trouble = undefined
      // An answer from a watchdog elsewhere may leave the grant with less than a whole ttl.
      return Math.min(intervalMs, grant.expiresInMs(now) / 2) * this.#spread
    }
    const { error, cause } = outcome as { error?: unknown; cause?: unknown }
    const restMs = doublingMs(firstRenewalPauseMs, grant.ttlMs / 12, grant.unanswered++)
    grant.trouble = error ?? cause
    this.#context.emit?.({ type: 'renewal-unanswered', key: grant.key, cause: grant.trouble })
    // A quiet time is respected for one interval at most: the lease must not end without another try.
    return Math.max(leastRenewalPauseMs, restMs, Math.min(retryAfterMs(outcome), intervalMs))
  }
}
