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
export class FirstTry extends FirstAttempt<TryOutcome> implements SpanListener {
  readonly #context: Context
  readonly #plan: Plan
  readonly #terms: Terms
  readonly #span: Wait
  readonly #request: AcquireRequest
  #acquisition: Acquisition | undefined
  #end: ((acquired: Acquired | undefined) => void) | undefined

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
    const granted = new Promise<Acquired | undefined>((resolve) => {
      this.#end = resolve
      this.#span.add(this)
      this.begin()
    })
    // In the caller's async context, whichever the answer came in.
    return granted.then((acquired) => acquired ?? (this.#acquisition as Acquisition).run())
  }

  /** As `wake` of `Acquisition`. */
  wake(): void {
    if (this.isOurs) this.handOver()
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

  protected take(outcome: TryOutcome | undefined): boolean {
    const { clock, work } = this.#context
    const { key, ttlMs, minValidityMs, commands } = this.#plan
    if (outcome?.type !== 'granted' || !isTokenOf(this.#request.acquisitionId, outcome.token)) return false
    const now = instant(clock)
    const { sentAt } = this.attempt
    const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
    if (grant.remainingMs(now) < minValidityMs) return false
    const waitedMs = Math.round(elapsedMs(now, this.#terms.since))
    this.#terms.onGrant?.(grant)
    this.#span.remove(this)
    work.end(this.#span)
    this.#terms.onEnd?.()
    this.#end?.({ grant, at: now, waitedMs, commands, lateGrants: 0 })
    return true
  }

  protected handOver(): void {
    const first = { span: this.#span, request: this.#request, attempt: this.attempt }
    this.#span.remove(this)
    this.#acquisition = new Acquisition(this.#context, this.#plan, this.#terms, first)
    this.#end?.(undefined)
  }
}
