import { backoffMs, jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import type { SpanListener } from '../timing/span.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { type Answer, isUnknown, retryAfterMs, silence } from './answered.ts'
import { type Asker, Attempt } from './attempt.ts'
import { leastRetryPauseMs, longestGraceMs, mostRetryPauseMs, punctualMs } from './figures.ts'
import type { Unknown } from './lease-store.ts'
import { type Asking, commandDeadlineMs, type Question, type Quiet } from './question.ts'

/**
 * Repeats one request until it is answered or time is up. If time runs out, the outcome is *unknown*.
 *
 * Nothing is sent while the store wants to be asked nothing. If that outlasts the time left, and no earlier attempt can still
 * be answered, the request ends at once: even a last attempt would come too soon for the store.
 *
 * An unanswered attempt is repeated after half a command deadline, so that a second one fits. Its answer still counts
 * during the whole deadline: otherwise on a slow link every answer would come just after its attempt was given up. The
 * first answer counts, whichever attempt it belongs to, and what it grants counts from when that attempt was sent.
 *
 * @param now   the present moment, if the caller has already read the clock
 * @param first an attempt that somebody else has made and passed to its sender, to be taken over: `now` is when it was made
 * @throws what the store rejected with
 * @throws the reason with which the question's span was ended, at once
 */
export const ask = <O>(
  context: Asking,
  ttlMs: number,
  question: Question<O>,
  now: Instant = instant(context.clock),
  first?: Attempt<O>,
): Promise<Answer<O | Unknown>> =>
  new Promise((resolve, reject) => {
    new Repetition(context, ttlMs, question, now, resolve, reject).begin(first)
  })

/** How long to wait for an attempt before the next one, in milliseconds. A question that is asked once has no next one. */
export const attemptMs = (context: Asking, ttlMs: number, once = false): number =>
  commandDeadlineMs(context, ttlMs) / (once ? 1 : 2)

const none: never[] = []
const endAttempt = (attempt: Attempt<unknown>): void => attempt.end()

/**
 * A question on its way to its answer.
 *
 * States:
 * - *attempting*: the latest attempt may still be answered.
 * - *resting*: the latest attempt failed, or the store wants to be left alone; the next attempt comes after the pause.
 * - *ending*: time is up, and the store has been notified. It may still say that it has sent nothing, or have the
 *   answer after all.
 * - *over*: the caller has its answer. Answers that come now are late.
 */
class Repetition<O> implements Asker<O>, SpanListener {
  readonly #clock: Clock
  readonly #question: Question<O>
  readonly #resolve: (answer: Answer<O | Unknown>) => void
  readonly #reject: (error: unknown) => void
  readonly #limitMs: number
  /** How long to wait for an attempt before the next one, in milliseconds. */
  readonly #lifeMs: number
  readonly #since: Instant
  readonly #quiet: Quiet
  #state: 'attempting' | 'resting' | 'ending' | 'over' = 'resting'
  /** The attempts that may still be answered, the oldest first. Replaced, never mutated. */
  #pending: Attempt<O>[] = none
  #latest: Attempt<O> | undefined
  #failure = silence
  /** How many attempts without an answer may have been carried out. */
  #uncertain = 0
  /** Whether the latest attempt gets its full time, rather than being cut short by the end of the question. */
  #isWhole = true
  /** How many attempts failed before their time was over. */
  #failures = 0
  /** How long to pause after the last of these failures, in milliseconds. */
  #restMs = 0
  /** When the timer is due, in monotonic milliseconds. */
  #dueMs = 0
  /** How much more lateness of its timers this process is still forgiven, in milliseconds. */
  #graceMs = longestGraceMs
  #cancelTimer: (() => void) | undefined

  constructor(
    context: Asking,
    ttlMs: number,
    question: Question<O>,
    since: Instant,
    resolve: (answer: Answer<O | Unknown>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#clock = context.clock
    this.#question = question
    this.#resolve = resolve
    this.#reject = reject
    this.#limitMs = commandDeadlineMs(context, ttlMs)
    this.#lifeMs = attemptMs(context, ttlMs, question.once)
    this.#since = since
    this.#quiet = question.quiet ?? { quietUntilMs: 0 }
  }

  begin(first: Attempt<O> | undefined): void {
    if (first) this.#takeOver(first)
    const { span } = this.#question
    span?.add(this)
    if (!first && !span?.isOver) this.#next(this.#since)
  }

  /** There is time for a whole attempt: otherwise nobody makes a first one without us. */
  #takeOver(first: Attempt<O>): void {
    first.asker = this
    this.#follow(first, this.#since)
    if (!first.isTimed) this.#setTimer(this.#lifeMs, this.#since)
  }

  onSpanEnd(): void {
    this.#fail(this.#question.span?.reason)
  }

  #leftMs(now: Instant): number {
    return this.#question.leftMs?.(now) ?? this.#limitMs - elapsedMs(now, this.#since)
  }

  /** Decides what follows a pause or an unanswered attempt. */
  #next(now: Instant): void {
    const { once } = this.#question
    const leftMs = this.#leftMs(now)
    const quietMs = this.#quiet.quietUntilMs - now.monotonicMs
    const pauseMs = Math.max(this.#restMs, quietMs)
    this.#restMs = 0
    if (this.#latest && (once || leftMs <= 1 || this.#question.mayRepeat?.() === false)) this.#giveUp(now)
    else if (pauseMs <= 0) this.#attempt(now, leftMs)
    // No further attempt is possible, and no earlier one can still be answered.
    else if (quietMs >= leftMs && this.#pending.length === 0) this.#giveUp(now)
    else {
      this.#state = 'resting'
      this.#setTimer(Math.min(pauseMs, leftMs), now)
    }
  }

  #attempt(now: Instant, leftMs: number): void {
    if (this.#pending.length > 1) this.#pending[0]?.end()
    else this.#endOldest(now)
    const attempt = new Attempt<O>(this, this.#lifeMs, now)
    this.#follow(attempt, now)
    this.#isWhole = this.#lifeMs <= leftMs
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    try {
      this.#question.send(attempt)
    } catch (error) {
      this.reject(error)
    }
    const isPending = this.#state === 'attempting' && this.#latest === attempt
    if (isPending && !(attempt.isTimed && this.#isWhole))
      this.#setTimer(Math.min(this.#lifeMs, Math.max(1, leftMs)), now)
  }

  #follow(attempt: Attempt<O>, now: Instant): void {
    this.#state = 'attempting'
    this.#latest = attempt
    this.#uncertain++
    this.#pending = this.#pending.length === 0 ? [attempt] : [...this.#pending, attempt]
    this.#dueMs = now.monotonicMs + this.#lifeMs
  }

  sent(attempt: Attempt<O>): void {
    this.#question.onSent?.()
    // The attempt waited its turn, so less time may be left than its sender gives it from now on.
    if (attempt.isQueued) this.#setTimer(Math.max(1, this.#leftMs(attempt.sentAt)), attempt.sentAt)
  }

  timeUp(attempt: Attempt<O>): void {
    if (attempt === this.#latest && this.#state === 'attempting') this.#onTimer()
  }

  /** Ends the oldest attempt once its answer has had a whole command deadline. */
  #endOldest(now: Instant): void {
    const oldest = this.#pending[0]
    if (oldest?.isSent && elapsedMs(now, oldest.sentAt) >= this.#limitMs) oldest.end()
  }

  #giveUp(now: Instant): void {
    this.#state = 'ending'
    this.#setTimer(0, now)
    this.#stopAll()
  }

  settle(attempt: Attempt<O>, given: O | Unknown = silence): void {
    const outcome = this.#question.read?.(given, attempt) ?? given
    const isOnly = this.#pending[0] === attempt && this.#pending.length === 1
    this.#pending = isOnly ? none : this.#pending.filter((each) => each !== attempt)
    if (isUnknown(outcome)) this.#unanswered(attempt, outcome)
    else {
      this.#uncertain--
      if (this.#state === 'over') this.#question.onLate?.(outcome, attempt.sentAt)
      else this.#end(outcome, attempt.sentAt)
    }
  }

  reject(error: unknown): void {
    if (this.#state !== 'over') this.#fail(error)
  }

  #unanswered(attempt: Attempt<O>, outcome: Unknown): void {
    this.#failure = outcome
    const now = instant(this.#clock)
    this.#quiet.quietUntilMs = Math.max(this.#quiet.quietUntilMs, now.monotonicMs + retryAfterMs(outcome))
    if (outcome.executed === 'no') {
      attempt.isInVain = true
      this.#uncertain--
    }
    // The failure of an earlier attempt changes nothing while a later one is in flight.
    if (attempt !== this.#latest) return
    if (this.#state === 'attempting') {
      this.#question.onSilence?.(outcome)
      this.#restMs = backoffMs(leastRetryPauseMs, mostRetryPauseMs, ++this.#failures, jitter())
      this.#next(now)
    } else if (this.#state === 'resting') this.#next(now)
  }

  #onTimer(): void {
    const now = instant(this.#clock)
    const attempt = this.#latest
    if (this.#state === 'ending') this.#end({ ...this.#failure, executed: this.#before() }, now)
    else if (this.#state === 'resting' || !attempt) this.#next(now)
    else if (this.#getsMoreTime(attempt, now)) return
    else if (!attempt.isSent && !attempt.isOver) {
      const leftMs = this.#leftMs(now)
      const isInLine = attempt.isQueued && leftMs > 1
      this.#setTimer(isInLine ? Math.min(leftMs, this.#lifeMs) : 0, now)
      // Earlier attempts may be ahead of it, and their answers would come too late to count.
      this.#endOldest(now)
      // Once it is over, its sender settles it and says why it was not sent.
      if (!isInLine) attempt.end()
    } else {
      if (this.#isWhole) this.#question.onSilence?.(this.#failure)
      this.#next(now)
    }
  }

  /** Whether to keep waiting for an unanswered attempt, because this process was busy rather than the store silent. */
  #getsMoreTime(attempt: Attempt<O>, now: Instant): boolean {
    // If the attempt was held back at first, its time began later.
    const lifeLeftMs = this.#lifeMs - elapsedMs(now, attempt.sentAt)
    const leftMs = Math.min(lifeLeftMs, this.#leftMs(now))
    // A timer that fires late shows that answers may lie unread.
    const lateMs = Math.min(now.monotonicMs - this.#dueMs, this.#graceMs)
    if (leftMs > 1) this.#setTimer(leftMs, now)
    else if (lateMs > punctualMs) {
      this.#graceMs -= lateMs
      this.#setTimer(lateMs, now)
    } else return false
    return true
  }

  #setTimer(delayMs: number, now: Instant): void {
    this.#cancelTimer?.()
    this.#dueMs = now.monotonicMs + delayMs
    this.#cancelTimer = this.#clock.schedule(() => this.#onTimer(), delayMs)
  }

  #before(): 'unknown' | 'no' {
    return this.#uncertain > 0 ? 'unknown' : 'no'
  }

  #end(outcome: O | Unknown, sentAt: Instant): void {
    const before = this.#before()
    this.#finish()
    this.#resolve({ outcome, sentAt, before })
  }

  #fail(error: unknown): void {
    this.#finish()
    this.#reject(error)
  }

  #finish(): void {
    this.#state = 'over'
    this.#cancelTimer?.()
    this.#question.span?.remove(this)
    this.#stopAll()
  }

  #stopAll(): void {
    this.#pending.forEach(endAttempt)
  }
}
