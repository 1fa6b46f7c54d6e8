import { commandDeadlineMs } from './ask.ts'
import type { Context } from './context.ts'
import { emit } from './events.ts'
import type { Grant } from './grant.ts'
import type { RenewOutcome } from './lease-store.ts'
import { jitter } from './timing/backoff.ts'
import { noAnswer, withDeadline } from './timing/deadline.ts'
import { type Instant, instant } from './timing/validity.ts'

/** Leases renewed by one command: a script over more would keep Redis from others for too long. */
const chunkSize = 100
/** Commands under way at once. */
const mostInFlight = 4
/** Least pause after an unanswered renewal, in milliseconds. */
const leastPauseMs = 10

/** Where a grant is in its schedule. Times are monotonic milliseconds. */
interface Schedule {
  /** When its next renewal is due; infinite for a lease without renewal. */
  dueMs: number
  /** When it has been held for as long as it may. */
  readonly holdUntilMs: number
  /** Its renewal is under way or waits for a free place; a renewal never overlaps itself. */
  renewing: boolean
  /** Renewals without an answer since the last answer. */
  unanswered: number
}

/**
 * The watchdog: renews many grants in few commands and notices when one is lost.
 *
 * A renewal is due a third of the ttl after the last answered one. When one falls due, all that would within a quarter
 * of their interval join it. Jitter is drawn per batch, so what was renewed together stays together. An unanswered
 * renewal is not a loss: it is repeated until the grant's own validity is over. One timer serves all grants; it does not
 * keep a process alive.
 */
export class Renewal {
  readonly #context: Context
  readonly #schedules = new Map<Grant, Schedule>()
  readonly #waiting: Grant[] = []
  #inFlight = 0
  #timer: { readonly atMs: number; readonly cancel: () => void } | undefined

  constructor(context: Context) {
    this.#context = context
  }

  /** Watches a grant's validity and, unless `renew` is false, renews it; at most until `maxHoldMs` after it was granted. */
  watch(grant: Grant, renew: boolean, maxHoldMs: number = Number.POSITIVE_INFINITY): void {
    const nowMs = this.#context.clock.monotonicMs()
    // Leases taken in a burst would renew in a burst: the first renewal comes anywhere in the second half of its time.
    const dueMs = renew ? nowMs + (grant.ttlMs / 3) * (0.5 + jitter() / 2) : Number.POSITIVE_INFINITY
    const holdUntilMs = nowMs + maxHoldMs - grant.heldMs()
    const schedule: Schedule = { dueMs, holdUntilMs, renewing: false, unanswered: 0 }
    this.#schedules.set(grant, schedule)
    this.#arm(this.#nextMs(grant, schedule, nowMs))
  }

  /** Takes a grant off the schedule; an answer that is still on its way is ignored from here on. */
  forget(grant: Grant): void {
    this.#schedules.delete(grant)
    if (this.#schedules.size === 0) this.#disarm()
  }

  #nextMs(grant: Grant, { dueMs, holdUntilMs, renewing }: Schedule, nowMs: number): number {
    return Math.min(renewing ? Number.POSITIVE_INFINITY : dueMs, holdUntilMs, nowMs + grant.remainingMs())
  }

  #arm(atMs: number): void {
    if (this.#timer && this.#timer.atMs <= atMs) return
    this.#disarm()
    const { clock } = this.#context
    const cancel = clock.schedule(() => this.#wake(), Math.max(1, Math.ceil(atMs - clock.monotonicMs())), 'background')
    this.#timer = { atMs, cancel }
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #wake(): void {
    this.#timer = undefined
    const nowMs = this.#context.clock.monotonicMs()
    const joining: Grant[] = []
    let anyDue = false
    for (const [grant, schedule] of this.#schedules) {
      if (grant.remainingMs() <= 0) this.#lose(grant, schedule.unanswered > 0 ? 'unreachable' : 'expired')
      else if (schedule.holdUntilMs <= nowMs) this.#lose(grant, 'max-hold')
      else if (!schedule.renewing && schedule.dueMs <= nowMs + grant.ttlMs / 12) {
        anyDue ||= schedule.dueMs <= nowMs
        joining.push(grant)
      }
    }
    if (anyDue) {
      for (const grant of joining) (this.#schedules.get(grant) as Schedule).renewing = true
      this.#waiting.push(...joining)
      this.#send()
    }
    let nextMs = Number.POSITIVE_INFINITY
    for (const [grant, schedule] of this.#schedules) nextMs = Math.min(nextMs, this.#nextMs(grant, schedule, nowMs))
    if (nextMs < Number.POSITIVE_INFINITY) this.#arm(nextMs)
  }

  #lose(grant: Grant, cause: 'expired' | 'unreachable' | 'max-hold' | 'gone' | 'superseded'): void {
    this.forget(grant)
    grant.lose(cause)
  }

  #send(): void {
    while (this.#inFlight < mostInFlight && this.#waiting.length > 0) {
      const chunk = this.#waiting.splice(0, chunkSize).filter((grant) => this.#schedules.has(grant))
      if (chunk.length > 0) void this.#renew(chunk)
    }
  }

  async #renew(chunk: readonly Grant[]): Promise<void> {
    const { store, clock } = this.#context
    const requests = chunk.map(({ key, token, ttlMs }) => ({ key, token, ttlMs }))
    const attemptMs = commandDeadlineMs(this.#context, Math.min(...requests.map(({ ttlMs }) => ttlMs))) / 2
    const sentAt = instant(clock)
    const take = (outcomes: readonly RenewOutcome[]): void => {
      for (const [index, grant] of chunk.entries()) this.#take(grant, outcomes[index], sentAt)
    }
    this.#inFlight++
    try {
      const outcomes = await withDeadline(clock, attemptMs, (signal) => store.renew(requests, signal), take)
      if (outcomes !== noAnswer) take(outcomes)
      this.#plan(chunk, outcomes === noAnswer ? [] : outcomes)
    } catch (cause: unknown) {
      this.#plan(chunk, [], cause)
    } finally {
      this.#inFlight--
      this.#send()
    }
  }

  /** Takes in one answer, in time or late. The answer for a grant that has left means nothing. */
  #take(grant: Grant, outcome: RenewOutcome | undefined, sentAt: Instant): void {
    if (!this.#schedules.has(grant)) return
    if (outcome?.type === 'renewed') grant.extend({ sentAt, ttlMs: grant.ttlMs })
    else if (outcome?.type === 'gone' || outcome?.type === 'superseded') this.#lose(grant, outcome.type)
  }

  /** Sets when each grant of a batch that is through comes next. */
  #plan(chunk: readonly Grant[], outcomes: readonly RenewOutcome[], cause?: unknown): void {
    const nowMs = this.#context.clock.monotonicMs()
    const spread = 0.9 + jitter() / 5
    for (const [index, grant] of chunk.entries()) {
      const schedule = this.#schedules.get(grant)
      if (!schedule) continue
      const outcome = outcomes[index]
      schedule.renewing = false
      if (outcome?.type === 'renewed') {
        schedule.unanswered = 0
        schedule.dueMs = nowMs + (grant.ttlMs / 3) * spread
      } else {
        schedule.dueMs = nowMs + Math.max(leastPauseMs, Math.min(grant.ttlMs / 12, 50 * 2 ** schedule.unanswered++))
        const reason = outcome?.type === 'refused' ? outcome.error : outcome?.type === 'unknown' ? outcome.cause : cause
        emit(this.#context.onEvent, { type: 'renewal-unanswered', key: grant.key, cause: reason })
      }
      this.#arm(this.#nextMs(grant, schedule, nowMs))
    }
  }
}
