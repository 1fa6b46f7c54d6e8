import type { Context } from '../context.ts'
import { type Answer, failed } from '../store/answered.ts'
import { ask, attemptMs } from '../store/ask.ts'
import type { Attempt } from '../store/attempt.ts'
import { FirstAttempt } from '../store/first-attempt.ts'
import type { ReleaseOutcome, ReleaseResult, Unknown } from '../store/lease-store.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import type { Grant } from './grant.ts'

/** The holder that gives a grant back. */
export interface Releasing {
  /** @param subscribers how many subscribers were notified that the lock is free; null if that is not known */
  onReleased(result: ReleaseResult, subscribers: number | null): void
}

/** Ends a grant that is not handed off, and notifies the holder. */
export type EndGrant = (context: Context, grant: Grant, holder: Releasing, now?: Instant) => void

/**
 * Gives a grant back. A lost grant is given back too, with a single attempt: the store may still have it, and the answer says
 * what became of it.
 *
 * A repeated release may find the lock gone, or held by another. *If our validity had not ended when the first attempt
 * left that may have been carried out*, that attempt freed the lock, because nobody else could have taken it until then.
 * Otherwise the result is unknown. This reasoning applies only where the store does not know how the lease ended. Where
 * it knows, its answer decides: a revocation is a loss, even if the release was sent twice.
 *
 * @param now the present moment, if the caller has already read the clock
 */
export const releaseGrant: EndGrant = (context, grant, holder, now = instant(context.clock)) =>
  new Release(context, grant, holder, now).run()

type Released = Extract<ReleaseOutcome, { readonly type: 'released' }>

class Release extends FirstAttempt<ReleaseOutcome, Released> {
  readonly #context: Context
  readonly #grant: Grant
  readonly #holder: Releasing
  readonly #now: Instant
  /** The grant's remaining validity when its release began, in milliseconds. */
  readonly #leftMs: number
  /** All attempts, the first included. Undefined until it is taken over. */
  #attempts: Attempt<ReleaseOutcome>[] | undefined
  #answer: Promise<Answer<ReleaseOutcome | Unknown>> | undefined

  constructor(context: Context, grant: Grant, holder: Releasing, now: Instant) {
    super(attemptMs(context, grant.ttlMs, !!grant.lostBecause), now)
    this.#context = context
    this.#grant = grant
    this.#holder = holder
    this.#now = now
    this.#leftMs = grant.remainingMs(now)
    grant.end()
  }

  protected send(attempt: Attempt<ReleaseOutcome>): void {
    const { token, passing } = this.#grant
    if (passing) passing.send(token, attempt)
    else this.#sendAlone(attempt)
  }

  protected take(outcome: ReleaseOutcome | Unknown | undefined): Released | undefined {
    return outcome?.type === 'released' ? outcome : undefined
  }

  protected takeOver(): void {
    const { lostBecause, ttlMs } = this.#grant
    const attempts = [this.attempt]
    const send = (attempt: Attempt<ReleaseOutcome>): void => {
      attempts.push(attempt)
      this.#sendAlone(attempt)
    }
    const question = { once: !!lostBecause, send }
    this.#attempts = attempts
    this.#answer = ask<ReleaseOutcome>(this.#context, ttlMs, question, this.#now, this.attempt).catch(
      failed(this.#context),
    )
  }

  run(): void {
    void this.begin().then((released) => (released ? this.#end('released', released) : this.#endTakenOver()))
  }

  async #endTakenOver(): Promise<void> {
    const answer = (await this.#answer) as Answer<ReleaseOutcome | Unknown>
    const decisive = this.#attempts?.find(({ isSent, isInVain }) => isSent && !isInVain)
    const isValid = !!decisive && this.#leftMs > elapsedMs(decisive.sentAt, this.#now)
    this.#end(resultOf(this.#context, this.#grant, answer, isValid), answer.outcome)
  }

  /** Sends the release as such: a repeat passes nothing on. */
  #sendAlone(attempt: Attempt<ReleaseOutcome>): void {
    const { key, token } = this.#grant
    this.#context.calls.release({ key, token }, attempt)
  }

  #end(result: ReleaseResult, outcome: ReleaseOutcome | Unknown): void {
    const isReleased = outcome.type === 'released'
    if (isReleased && !outcome.announced) this.#context.emit?.({ type: 'unannounced', key: this.#grant.key })
    this.#holder.onReleased(result, isReleased ? outcome.subscribers : null)
  }
}

function resultOf(
  { emit }: Context,
  { key, fence }: Grant,
  { outcome, before }: Answer<ReleaseOutcome>,
  valid: boolean,
): ReleaseResult {
  if (outcome.type === 'released') return 'released'
  if (outcome.type === 'refused') {
    const { error } = outcome
    emit?.({ type: 'release-refused', key, fence, cause: error.cause ?? error })
  }
  if (outcome.type === 'revoked') return 'expired'
  if (outcome.type !== 'gone' && outcome.type !== 'superseded') return 'unknown'
  if (outcome.resent || before === 'unknown') return valid ? 'released' : 'unknown'
  return outcome.type === 'gone' ? 'expired' : 'superseded'
}
