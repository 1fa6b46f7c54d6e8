import type { Context } from '../context.ts'
import { type Answer, isUnknown, silence } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Attempt } from '../store/attempt.ts'
import type {
  AcquireOutcome,
  AcquireRequest,
  InspectOutcome,
  ReleaseOutcome,
  ReleaseRequest,
  Unknown,
} from '../store/lease-store.ts'
import { commandDeadlineMs, type Question, type Quiet } from '../store/question.ts'
import { isTokenOf } from '../store/token.ts'
import { sleep } from '../timing/deadline.ts'
import type { Span } from '../timing/span.ts'
import type { Instant } from '../timing/validity.ts'
import { mostSilentTries } from './figures.ts'

/** The outcome of a try; of type `state` if the try was only a check. */
export type TryOutcome = AcquireOutcome | InspectOutcome

/** The acquire that makes a claim. */
export interface Claimant {
  /** Until when the store wants to be asked nothing. Both the tries and their undoing respect that. */
  readonly known: Quiet
  /** Ends a try early. */
  readonly span: Span
  /** How long the acquire may still take, in milliseconds. */
  leftMs(now: Instant): number
  /** Whether its budget allows another command. */
  mayRepeat(): boolean
  /** A try has been sent, or a check. */
  onSent(): void
  /** A try got no usable answer. Not called if the try was only cut short because time was up. */
  onSilence(failure: Unknown): void
  /** A try was granted after it had been given up. The next `attempt` returns that grant. */
  onLateGrant(): void
}

/**
 * All requests for one key under one acquisition id, from the first try until the claim is granted or given up. All its
 * tries carry the same id, so a repeat after a lost reply finds its own lease. A try without an answer may have been
 * granted: to give the claim up, call `abandon`.
 *
 * A try without an answer may extend an entry that nobody knows of, and so keep others out. After two such tries in a row the
 * claim therefore only checks, which changes nothing, until the store answers again.
 */
export class Claim implements Question<TryOutcome> {
  readonly #context: Context
  readonly #request: AcquireRequest
  readonly #claimant: Claimant
  /** How many tries were granted or may have been. */
  #open = 0
  /** The last of these tries, until it has an outcome. */
  #latest: Attempt<TryOutcome> | undefined
  #silentTries = 0
  #ended = false
  /** The attempts that only check. Made by the first of them. */
  #checks: WeakSet<Attempt<TryOutcome>> | undefined
  /** The token of the grant that the caller has taken. */
  #accepted: string | undefined
  /** A grant that came after its try had been given up. It answers the present attempt and the next. */
  lateGrant: Answer<AcquireOutcome> | undefined

  /** @param isBegun whether a try has been sent already under the request's acquisition id and may have been granted */
  constructor(context: Context, request: AcquireRequest, claimant: Claimant, isBegun: boolean) {
    this.#context = context
    this.#request = request
    this.#claimant = claimant
    if (isBegun) this.#open = 1
  }

  get quiet(): Quiet {
    return this.#claimant.known
  }

  get span(): Span {
    return this.#claimant.span
  }

  /**
   * Tries until there is an answer or no time is left.
   *
   * @param now   the present moment, if the caller has already read the clock
   * @param first a try that is under way already, to be taken over
   */
  attempt(now?: Instant, first?: Attempt<TryOutcome>): Promise<Answer<TryOutcome>> {
    if (this.lateGrant) return Promise.resolve(this.lateGrant)
    if (first) this.#follow(first)
    return ask(this.#context, this.#request.ttlMs, this, now, first)
  }

  /** The caller takes the grant. After this `abandon` does nothing. */
  accept(token: string): void {
    this.#accepted = token
    this.#ended = true
  }

  /** Undoes, in the background, whatever the tries were granted or may have been granted. */
  abandon(): void {
    if (this.#ended) return
    this.#ended = true
    // A try that has not been sent by now never will be.
    const unsent = this.#latest?.isSent === false ? 1 : 0
    if (this.#open > unsent) this.#context.work.background(() => undoAcquire(this.#context, this.#request, this.quiet))
  }

  leftMs(now: Instant): number {
    // A late grant that arrives meanwhile ends the attempt after its present try.
    return this.lateGrant ? 0 : this.#claimant.leftMs(now)
  }

  mayRepeat(): boolean {
    return this.#claimant.mayRepeat()
  }

  send(attempt: Attempt<TryOutcome>): void {
    const { store, calls } = this.#context
    if (this.#silentTries < mostSilentTries) {
      this.#follow(attempt)
      calls.acquire(this.#request, attempt as Attempt<AcquireOutcome>)
    } else {
      this.#checks ??= new WeakSet()
      this.#checks.add(attempt)
      attempt.follow(store.inspect(this.#request.key, attempt))
    }
  }

  #follow(attempt: Attempt<TryOutcome>): void {
    this.#open++
    this.#silentTries++
    this.#latest = attempt
  }

  read(given: TryOutcome = silence, attempt: Attempt<TryOutcome>): TryOutcome {
    const isForeign = given.type === 'granted' && !isTokenOf(this.#request.acquisitionId, given.token)
    const outcome = isForeign ? foreign : given
    if (attempt === this.#latest) this.#latest = undefined
    if (!isUnknown(outcome)) this.#silentTries = 0
    if (!this.#checks?.has(attempt) && !isPossibleGrant(outcome)) {
      this.#open--
      // A try that was certainly not carried out has extended no entry.
      this.#silentTries = Math.max(0, this.#silentTries - 1)
    }
    return outcome
  }

  onSent(): void {
    this.#claimant.onSent()
  }

  onSilence(failure: Unknown): void {
    this.#claimant.onSilence(failure)
  }

  onLate(outcome: TryOutcome, sentAt: Instant): void {
    if (outcome.type !== 'granted') return
    this.lateGrant = { outcome, sentAt, before: 'unknown' }
    if (!this.#ended) this.#claimant.onLateGrant()
    // It may be the accepted grant itself. If not, it came before that grant or after its end, and is given back by its
    // own token: the acquisition id would match the accepted grant, too.
    else if (outcome.token !== this.#accepted) {
      const ended = { key: this.#request.key, token: outcome.token }
      this.#context.work.background(() => release(this.#context, ended, this.#request.ttlMs, this.quiet))
    }
  }
}

function release(
  context: Context,
  request: ReleaseRequest,
  ttlMs: number,
  quiet: Quiet,
): Promise<Answer<ReleaseOutcome>> {
  return ask<ReleaseOutcome>(context, ttlMs, {
    quiet,
    send: (attempt) => context.calls.release(request, attempt),
  })
}

/**
 * Undoes tries that were granted or may have been. A release that finds nothing may have overtaken the acquire it
 * undoes, so it is sent once more, later. That is not needed if the ttl runs out before the store wants to be asked
 * again.
 */
export async function undoAcquire(context: Context, request: AcquireRequest, quiet: Quiet): Promise<void> {
  const { clock } = context
  const { key, acquisitionId, ttlMs } = request
  const tries = { key, acquisitionId }
  const { outcome } = await release(context, tries, ttlMs, quiet)
  if (outcome.type === 'released') return
  const restMs = Math.max(commandDeadlineMs(context, ttlMs), quiet.quietUntilMs - clock.monotonicMs())
  if (restMs > ttlMs) return
  await sleep(clock, restMs)
  await release(context, tries, ttlMs, quiet)
}

const isPossibleGrant = (outcome: TryOutcome): boolean =>
  outcome.type === 'granted' || (outcome.type === 'unknown' && outcome.executed === 'unknown')

/** An answer to somebody else tells us nothing. It can come from a cache, or from a connection that is out of step. */
const foreign: Unknown = {
  type: 'unknown',
  executed: 'unknown',
  cause: new Error('The answer is to another request'),
}
