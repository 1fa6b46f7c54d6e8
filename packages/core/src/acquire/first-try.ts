import type { Context } from '../context.ts'
import { Grant } from '../lease/grant.ts'
import type { Wait } from '../open-work.ts'
import type { Plan } from '../options.ts'
import type { Attempt } from '../store/attempt.ts'
import { FirstAttempt } from '../store/first-attempt.ts'
import type { AcquireOutcome, AcquireRequest } from '../store/lease-store.ts'
import { isTokenOf } from '../store/token.ts'
import type { SpanListener } from '../timing/span.ts'
import { elapsedMs, instant } from '../timing/validity.ts'
import { type Acquired, Acquisition, requestFor, type Terms } from './acquisition.ts'
import type { TryOutcome } from './claim.ts'

/**
 * An acquire that is granted by its first try, as most are. Anything else makes it an `Acquisition`, which takes the try
 * over: an answer that is no timely grant, no answer in time, or an early end.
 */
export class FirstTry extends FirstAttempt<TryOutcome, Acquired> implements SpanListener {
  readonly #context: Context
  readonly #plan: Plan
  readonly #terms: Terms
  readonly #span: Wait
  readonly #request: AcquireRequest
  #acquisition: Acquisition | undefined

  /** Throws what the constructor of `Acquisition` throws. */
  constructor(context: Context, plan: Plan, terms: Terms, withinMs: number) {
    super(withinMs, terms.since)
    this.#context = context
    this.#plan = plan
    this.#terms = terms
    this.#span = context.work.begin(plan.signal)
    this.#request = requestFor(context, plan, terms.fences)
  }

  /** As `run` of `Acquisition`. */
  run(): Promise<Acquired> {
    this.#span.add(this)
    return this.begin().then((acquired) =>
      acquired ? this.#granted(acquired) : (this.#acquisition as Acquisition).run(),
    )
  }

  /** As `wake` of `Acquisition`. */
  wake(): void {
    this.handOver()
    this.#acquisition?.wake()
  }

  onSpanEnd(): void {
    this.handOver()
  }

  protected send(attempt: Attempt<TryOutcome>): void {
    this.#context.calls.acquire(this.#request, attempt as Attempt<AcquireOutcome>)
  }

  protected override onSent(): void {
    this.#plan.commands++
    this.#plan.budget.left--
  }

  protected take(outcome: TryOutcome | undefined): Acquired | undefined {
    const { clock } = this.#context
    const { key, ttlMs, minValidityMs, commands } = this.#plan
    if (outcome?.type !== 'granted' || !isTokenOf(this.#request.acquisitionId, outcome.token)) return undefined
    const now = instant(clock)
    const { sentAt } = this.attempt
    const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
    if (grant.remainingMs(now) < minValidityMs) return undefined
    this.#span.remove(this)
    return { grant, at: now, waitedMs: Math.round(elapsedMs(now, this.#terms.since)), commands, lateGrants: 0 }
  }

  #granted(acquired: Acquired): Acquired {
    try {
      this.#terms.onGrant?.(acquired.grant as Grant)
      return acquired
    } finally {
      this.#context.work.end(this.#span)
      this.#terms.onEnd?.()
    }
  }

  protected takeOver(): void {
    const first = { span: this.#span, request: this.#request, attempt: this.attempt }
    this.#span.remove(this)
    this.#acquisition = new Acquisition(this.#context, this.#plan, this.#terms, first)
  }
}
