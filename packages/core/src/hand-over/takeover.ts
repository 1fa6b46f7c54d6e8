import type { Acquired } from '../acquire/acquisition.ts'
import { undoAcquire } from '../acquire/claim.ts'
import type { Context } from '../context.ts'
import { about, LeaseLostError } from '../errors.ts'
import { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { type Answer, answered, isUnknown, silence, unanswered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { HandOverStore, ResumeOutcome, ResumeRequest } from '../store/hand-over.ts'
import type { Unknown } from '../store/lease-store.ts'
import { commandDeadlineMs, type Quiet } from '../store/question.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { Span } from '../timing/span.ts'
import { elapsedMs, type Instant, instant, waitedMs } from '../timing/validity.ts'
import type { DetachedLease } from './detached-lease.ts'

/**
 * A resume in progress, with one acquisition id, within one command deadline.
 *
 * An unanswered request may have been carried out. Then the detached token is worthless, and only this acquisition id
 * leads to the lease. So a takeover that ends without a lease releases by that id: when the queue delivers the work
 * again, the message is superseded or the lease gone, and the work acquires the key, which is free before its ttl is
 * over.
 *
 * Unlike an acquire, it does not give back a grant with too little validity left while there is time: a repeat of the
 * request finds and extends it.
 */
export class Takeover {
  readonly #context: Context
  readonly #handOver: HandOverStore
  readonly #plan: Plan
  readonly #since: Instant
  readonly #request: ResumeRequest
  readonly #quiet: Quiet = { quietUntilMs: 0 }
  /** Whether the lease may have been granted without anybody having it. */
  #open = false
  #ended: 'with a lease' | 'without' | undefined

  constructor(context: Context, handOver: HandOverStore, detached: DetachedLease, plan: Plan, since: Instant) {
    this.#context = context
    this.#handOver = handOver
    this.#plan = plan
    this.#since = since
    this.#request = { ...detached, acquisitionId: drawAcquisitionId(context.name), ttlMs: plan.ttlMs }
  }

  /**
   * Call it once.
   *
   * @throws LeaseLostError if the lease can no longer be taken over
   * @throws StoreUnavailableError when the store did not answer, or answered too late
   */
  async run(): Promise<Acquired> {
    const { clock, work } = this.#context
    const { key, ttlMs, minValidityMs, signal } = this.#plan
    const span = work.begin(signal)
    try {
      do {
        const { outcome, sentAt, before } = await this.#ask(span)
        this.#open = before === 'unknown' || isPossibleGrant(outcome)
        const found = answered('resume', key, outcome, before)
        if (found.type !== 'granted') {
          // The detached token is gone for good, so no attempt that arrives later takes anything over.
          this.#open = false
          throw new LeaseLostError(key, found.type === 'superseded' ? 'superseded' : 'gone')
        }
        const grant = new Grant(clock, key, found.token, found.fence, { sentAt, ttlMs })
        if (grant.remainingMs() >= minValidityMs) return this.#granted(grant)
      } while (this.#mayRepeat() && this.#leftMs() > 1)
      throw about(key, unanswered('resume', silence))
    } finally {
      this.#ended ??= 'without'
      if (this.#open) this.#undo()
      work.end(span)
    }
  }

  #ask(span: Span): Promise<Answer<ResumeOutcome>> {
    return ask<ResumeOutcome>(this.#context, this.#plan.ttlMs, {
      span,
      quiet: this.#quiet,
      leftMs: (now) => this.#leftMs(now),
      mayRepeat: () => this.#mayRepeat(),
      send: (attempt) => {
        this.#open = true
        this.#plan.commands++
        this.#plan.budget.left--
        attempt.follow(this.#handOver.resume(this.#request, attempt))
      },
      read: (given) => this.#checked(given),
      onLate: ({ type }) => {
        if (type === 'granted' && this.#ended === 'without') this.#undo()
      },
    })
  }

  #leftMs(now: Instant = instant(this.#context.clock)): number {
    return commandDeadlineMs(this.#context, this.#plan.ttlMs) - elapsedMs(now, this.#since)
  }

  #mayRepeat(): boolean {
    return this.#plan.budget.left >= 1
  }

  /** An answer to somebody else's request tells us nothing. */
  #checked(given: ResumeOutcome | undefined): ResumeOutcome | Unknown {
    const isForeign = given?.type === 'granted' && !given.token.startsWith(`${this.#request.acquisitionId}.`)
    return isForeign || !given ? silence : given
  }

  #granted(grant: Grant): Acquired {
    this.#open = false
    this.#ended = 'with a lease'
    const { commands } = this.#plan
    return { grant, waitedMs: waitedMs(this.#context.clock, this.#since), commands, lateGrants: 0 }
  }

  /** Gives back what may have been taken over. */
  #undo(): void {
    this.#context.work.background(() => undoAcquire(this.#context, { ...this.#request, fences: 1 }, this.#quiet))
  }
}

const isPossibleGrant = (outcome: ResumeOutcome): boolean =>
  outcome.type === 'granted' || (isUnknown(outcome) && outcome.executed === 'unknown')
