import type { Context } from '../context.ts'
import type { Executed } from '../errors.ts'
import { Grant } from '../lease/grant.ts'
import type { Wait } from '../open-work.ts'
import type { Plan } from '../options.ts'
import { type Answer, answered, unanswered } from '../store/answered.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AcquireRequest, Unknown } from '../store/lease-store.ts'
import { commandDeadlineMs, type Quiet } from '../store/question.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { sleep } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { floorMs } from '../waiting/pacing.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import type { Contention, Waiter } from '../waiting/release-notifier.ts'
import { Claim, type Claimant, type TryOutcome } from './claim.ts'
import { longestVainPauseMs } from './figures.ts'

/** How an acquire ended. Without a grant, its wait or budget ran out, and the store had answered until then. */
export interface Acquired {
  readonly grant: Grant | undefined
  /** When it ended. Left out if the clock was not read then. */
  readonly at?: Instant
  /** How long the acquire took, in whole milliseconds. */
  readonly waitedMs: number
  readonly commands: number
  /** How many grants came with too little validity left and were given back. */
  readonly lateGrants: number
  /** Without a grant: the name of the holder that was last seen; null if it has none or nobody was seen. */
  readonly holder?: string | null
  /** Without a grant: whether a call of this locker holds the lock, as far as that is known. */
  readonly heldHere?: boolean | undefined
}

/**
 * What is known of a lock after a try that brought no lease.
 *
 * - `held`: somebody has it
 * - `late`: it was granted with too little validity left, or the grant came and went unseen; the grant was given back
 * - an unknown outcome: the store did not answer
 */
export type Finding = 'held' | 'late' | Unknown

/** What is known of one lock. All calls that wait for the lock together share one object. */
export interface Knowledge extends Quiet {
  /** The finding of the last try that brought no lease. */
  finding: Finding | undefined
  /** How many grants had come too late for the call that made that try. */
  lateGrants: number
  /** The name of the holder that was last seen, null if it has none. */
  holder: string | null
}

/**
 * Called when a wait ends without a lease: somebody has the lock, or every grant came too late.
 *
 * @throws StoreUnavailableError if neither is certain, because the store has fallen silent since
 */
export function assertAnswered(finding: Finding | undefined, executed: Executed): void {
  if (typeof finding !== 'string') throw unanswered('acquire', { type: 'unknown', ...finding, executed })
}

export const nothingKnown = (): Knowledge => ({
  finding: undefined,
  lateGrants: 0,
  holder: null,
  quietUntilMs: 0,
})

/** What an acquire needs besides its plan. */
export interface Terms {
  /** When its wait began. */
  readonly since: Instant
  /** Consecutive fences to reserve with the grant. */
  readonly fences: number
  /** The acquire reads it and keeps it up to date. */
  readonly known: Knowledge
  /** Whether its event `contended` has been emitted already. */
  readonly toldContended?: boolean
  /** An acquisition id under which a try has been sent already and may have been granted. */
  readonly begun?: string | undefined
  /** Whether a call of this locker holds the lock, as far as that is known. */
  readonly heldHere?: boolean
  /** Called after each try that brought no lease. */
  onFinding?(finding: Finding): void
  /** The lock was granted. */
  onGrant?(grant: Grant): void
  /** The acquire has ended, with or without a grant. */
  onEnd?(): void
}

/** A first try that is under way, and the wait it belongs to. */
export interface Begun {
  readonly span: Wait
  readonly request: AcquireRequest
  readonly attempt: Attempt<TryOutcome>
}

/**
 * An acquire in progress. It tries, waits and tries again until the lock is granted or the plan's wait is over. A plan
 * without a wait makes one try, which is repeated only while it stays unanswered.
 *
 * The last finding decides what the end of the wait means. If the store has fallen silent since its last answer, nobody can say
 * that the lock is still held.
 */
export class Acquisition implements Claimant {
  readonly known: Knowledge
  readonly span: Wait
  readonly #context: Context
  readonly #plan: Plan
  readonly #terms: Terms
  #claim: Claim
  /** The last finding of this acquire; at first, what others have found. */
  #finding: Finding | undefined
  /** Made by the first try that is contended. */
  #waiter: Waiter | undefined
  #woken = false
  #toldContended: boolean
  #lateGrants = 0
  /** How many tries in a row brought neither a lease nor anything to wait for. */
  #vain = 0
  /** `unknown` once an unanswered request of this acquire may have been carried out. */
  #executed: Executed = 'no'
  /** The answer to a first try that was taken over. */
  #answer: Promise<Answer<TryOutcome>> | undefined

  /**
   * @param first a first try to be taken over, which was made when the wait began
   * @throws LeaseholdError with code `CLOSED` if the locker is closed
   * @throws the plan's signal's own reason if that is aborted
   */
  constructor(context: Context, plan: Plan, terms: Terms, first?: Begun) {
    this.#context = context
    this.#plan = plan
    this.#terms = terms
    this.known = terms.known
    this.#finding = terms.known.finding
    this.#toldContended = terms.toldContended ?? false
    this.span = first?.span ?? context.work.begin(plan.signal)
    if (terms.begun) this.#executed = 'unknown'
    this.#claim = this.#begin(terms.begun, first?.request)
    if (first) this.#answer = this.#claim.attempt(terms.since, first.attempt)
  }

  /**
   * Call it once.
   *
   * @param began the present moment, if the caller has already read the clock
   * @throws StoreUnavailableError if the store did not answer, or stopped answering
   * @throws the store's error if it refuses for good
   * @throws LeaseholdError with code `CLOSED`, at once, when the locker is closed
   * @throws the plan's signal's own reason, at once, when that is aborted
   */
  async run(began?: Instant): Promise<Acquired> {
    const { clock, work } = this.#context
    const { key, ttlMs, minValidityMs } = this.#plan
    try {
      for (; ; began = undefined) {
        const answer = await (this.#answer ?? this.#claim.attempt(began))
        this.#answer = undefined
        const now = instant(clock)
        const { outcome, sentAt, before } = this.#claim.lateGrant ?? answer
        if (before === 'unknown') this.#executed = before
        if (outcome.type === 'granted') {
          this.#waiter?.granted?.()
          const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
          if (grant.remainingMs(now) >= minValidityMs) {
            this.#claim.accept(grant.token)
            this.#terms.onGrant?.(grant)
            return this.#ended(grant, now)
          }
        }
        if ((await this.#handle(outcome)) && this.#goesOn()) continue
        assertAnswered(this.#finding, this.#executed)
        return this.#ended(undefined, instant(clock))
      }
    } finally {
      this.#waiter?.close()
      this.#claim.abandon()
      work.end(this.span)
      this.#terms.onEnd?.()
    }
  }

  /**
   * Somebody in this process knows that another try is worthwhile. Ends the pause after a contended try, but not the
   * pause after a try that brought neither a lease nor anything to wait for.
   */
  wake(): void {
    this.#woken = true
    this.#waiter?.wake()
  }

  leftMs(now: Instant = instant(this.#context.clock)): number {
    const { ttlMs, waitMs } = this.#plan
    return (waitMs || commandDeadlineMs(this.#context, ttlMs)) - elapsedMs(now, this.#terms.since)
  }

  mayRepeat(): boolean {
    return this.#plan.budget.left >= 1
  }

  /** Whether another try is possible. A spent budget ends the wait just as the deadline does. */
  #goesOn(): boolean {
    return this.mayRepeat() && this.leftMs() > 1
  }

  onSent(): void {
    this.#plan.commands++
    this.#plan.budget.left--
  }

  onSilence(failure: Unknown): void {
    this.#learn(failure)
  }

  onLateGrant(): void {
    this.wake()
  }

  #begin(begun?: string, request = requestFor(this.#context, this.#plan, this.#terms.fences, begun)): Claim {
    return new Claim(this.#context, request, this, begun !== undefined)
  }

  #ended(grant: Grant | undefined, now: Instant): Acquired {
    return {
      grant,
      at: now,
      waitedMs: Math.round(elapsedMs(now, this.#terms.since)),
      commands: this.#plan.commands,
      lateGrants: this.#lateGrants,
      holder: this.known.holder,
      heldHere: this.#terms.heldHere,
    }
  }

  #learn(found: Finding): void {
    this.#finding = found
    this.known.finding = found
    this.known.lateGrants = this.#lateGrants
    this.#terms.onFinding?.(found)
    if (found === 'held' && !this.#toldContended) {
      this.#toldContended = true
      this.#context.emit?.({ type: 'contended', key: this.#plan.key })
    }
  }

  /** Learns from a try that brought no lease, and pauses. Returns whether another try is worthwhile. */
  async #handle(outcome: TryOutcome): Promise<boolean> {
    const { clock } = this.#context
    const { key, waitMs } = this.#plan
    if (outcome.type === 'unknown') {
      const finding = this.#finding
      // A try cut short by the end of the wait says nothing about the store. It counts only if nothing else is known.
      if (typeof finding !== 'string') this.#learn({ ...finding, ...outcome })
      else if (this.#goesOn()) this.#learn(outcome)
      return false
    }
    if (outcome.type === 'held') {
      this.#vain = 0
      this.known.holder = outcome.holder
      this.#learn('held')
      if (waitMs > 0 && this.#goesOn()) await this.#pause(outcome)
      // A call that does not wait makes one try.
      return waitMs > 0
    }
    if (answered('acquire', key, outcome, this.#executed).type !== 'state') {
      // The grant came too late, or came and went unseen. Once it is given back, the store answers this acquisition id with
      // `spent`, so the next try needs a new one.
      this.#claim.abandon()
      this.#claim = this.#begin()
      this.#lateGrants++
      this.#learn('late')
    }
    // Nothing says when another try is worthwhile. A holder that a check has seen may be this call itself, granted by a
    // try whose answer was lost, so there is nobody to wait for.
    const pauseMs = floorMs(this.#vain++, longestVainPauseMs)
    if (this.#goesOn()) await sleep(clock, Math.min(pauseMs, this.leftMs()), this.span.signal)
    return true
  }

  #pause(contention: Contention): Promise<void> {
    if (!this.#waiter) {
      const { clock, notifier } = this.#context
      this.#waiter = notifier?.waiter(clock, this.#plan) ?? pollingWaiter(clock, this.#plan)
      if (this.#woken) this.#waiter.wake()
    }
    return this.#waiter.pause(contention, () => this.leftMs(), this.span.signal)
  }
}

/** @param begun the acquisition id, if a try was sent under it already */
export function requestFor(
  { name }: Context,
  { key, ttlMs }: Plan,
  fences: number,
  begun: string = drawAcquisitionId(name),
): AcquireRequest {
  return { key, acquisitionId: begun, ttlMs, fences }
}
