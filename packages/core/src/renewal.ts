import { commandDeadlineMs } from './ask.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { RenewOutcome } from './lease-store.ts'
import type { Plan } from './options.ts'
import { RenewalLane } from './renewal-lane.ts'
import { doublingMs, jitter } from './timing/backoff.ts'
import { type Instant, instant } from './timing/validity.ts'

/** Pause after an unanswered renewal, doubled by each further one, and the least pause, in milliseconds. */
const pauseMs = { from: 50, least: 10 }
/** The share of its ttl after which a lease that nobody renews is announced as expiring. */
const warnAt = 0.8
/** Leases held for long are told of no sooner than they are, and so much later at most, in milliseconds: together. */
const longHeldWithinMs = 1_000

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
  readonly #lanes = new Map<string, RenewalLane>()
  #timerAtMs = Infinity
  #cancelTimer: (() => void) | undefined

  constructor(context: Context) {
    this.#context = context
  }

  /** Watches a grant's validity and, unless the plan says no, renews it; at most until its `maxHold` is over. */
  watch(grant: Grant, { renew, maxHoldMs = Infinity, longHeldMs }: Plan): void {
    const now = instant(this.#context.clock)
    const nowMs = now.monotonicMs
    const heldMs = grant.heldMs(now)
    // Leases taken in a burst would renew in a burst: the first renewal comes anywhere in the second half of its time.
    // A grant that was handed off keeps the time it had, or it might be put off again and again.
    const firstMs = renew ? (grant.ttlMs / 3) * (0.5 + jitter() / 2) : grant.ttlMs * warnAt - heldMs
    if (!grant.renewing) grant.dueMs = Math.min(grant.dueMs, nowMs + firstMs)
    grant.renews = renew
    grant.holdUntilMs = nowMs + maxHoldMs - heldMs
    grant.longHeldAtMs = nowMs + longHeldMs - heldMs
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
    this.#cancelTimer = this.#context.background.schedule(() => this.#wake(), delayMs, 'background')
  }

  #wake(): void {
    this.#disarm()
    const now = instant(this.#context.clock)
    const nowMs = now.monotonicMs
    const joining: Grant[] = []
    for (const grant of this.#watched) {
      grant.check(now)
      if (!this.#watched.has(grant)) continue
      if (grant.longHeldAtMs <= nowMs) this.#tellLongHeld(grant, now)
      if (!grant.renews && grant.dueMs <= nowMs) this.#warn(grant)
      else if (grant.renews && grant.dueMs <= nowMs + grant.ttlMs / 12) joining.push(grant)
    }
    if (joining.some(({ dueMs }) => dueMs <= nowMs)) this.#renew(joining)
    for (const grant of this.#watched) this.#arm(grant, now)
  }

  #tellLongHeld(grant: Grant, now: Instant): void {
    const { key, fence } = grant
    const heldMs = grant.heldMs(now)
    grant.longHeldAtMs = now.monotonicMs + heldMs
    this.#context.emit({ type: 'long-held', key, fence, heldMs })
  }

  /** Nobody renews this one, and most of its time is over. */
  #warn(grant: Grant): void {
    const { key, fence } = grant
    // Its holder may have extended it since.
    const earlyMs = grant.expiresInMs() - grant.ttlMs * (1 - warnAt)
    grant.dueMs = earlyMs > 1 ? this.#context.clock.monotonicMs() + earlyMs : Infinity
    if (earlyMs > 1) return
    this.#context.emit({ type: 'expiring', key, fence, remainingMs: grant.remainingMs() })
  }

  /**
   * Hands what is due to the lanes. Leases of one node share a lane, and those that it left unanswered have one of their own:
   * what has fallen silent holds up nobody who is well.
   */
  #renew(due: readonly Grant[]): void {
    const lanes = new Set<RenewalLane>()
    for (const grant of due) {
      grant.dueMs = Infinity
      grant.renewing = true
      const lane = this.#lane(`${grant.unanswered > 0} ${this.#context.store.nodeOf(grant.key)}`)
      lane.add(grant)
      lanes.add(lane)
    }
    for (const lane of lanes) lane.send()
  }

  #lane(name: string): RenewalLane {
    const known = this.#lanes.get(name)
    if (known) return known
    const lane = new RenewalLane(this.#context, {
      isWanted: (grant) => this.#watched.has(grant),
      attemptMs: ({ ttlMs }) => commandDeadlineMs(this.#context, ttlMs) / 2,
      onOutcomes: (grants, outcomes) => this.#schedule(grants, outcomes),
      onIdle: () => this.#lanes.delete(name),
    })
    this.#lanes.set(name, lane)
    return lane
  }

  /** Sets when each grant of a batch that is through comes next. */
  #schedule(grants: readonly Grant[], outcomes: readonly RenewOutcome[]): void {
    const now = instant(this.#context.clock)
    const spread = 0.9 + jitter() / 5
    for (const [index, grant] of grants.entries()) {
      grant.renewing = false
      if (!this.#watched.has(grant)) continue
      const outcome = outcomes[index]
      if (outcome?.type === 'renewed') {
        grant.unanswered = 0
        grant.dueMs = now.monotonicMs + (grant.ttlMs / 3) * spread
      } else {
        const restMs = doublingMs(pauseMs.from, grant.ttlMs / 12, grant.unanswered++)
        grant.dueMs = now.monotonicMs + Math.max(pauseMs.least, restMs)
        this.#context.emit({ type: 'renewal-unanswered', key: grant.key, cause: causeOf(outcome) })
      }
      this.#arm(grant, now)
    }
  }
}

/** Why there is no answer. */
const causeOf = (outcome: RenewOutcome | undefined): unknown =>
  outcome?.type === 'refused' ? outcome.error : outcome?.type === 'unknown' ? outcome.cause : undefined
