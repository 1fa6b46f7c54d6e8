import type { Context } from '../context.ts'
import { LeaseholdError, LeaseLostError, type LossReason } from '../errors.ts'
import type { Grant } from '../lease/grant.ts'
import { type Releasing, releaseGrant } from '../lease/release.ts'
import type { Watch } from '../lease/watch.ts'
import { failed, isUnknown, silence } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Refused, ReleaseResult, Unknown } from '../store/lease-store.ts'
import type { Question } from '../store/question.ts'
import { checkResult, mostResultBytes } from '../store/record-limits.ts'
import type { AbandonOutcome, ClaimRequest, CompleteOutcome, NotMine, RecordStore } from '../store/records.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { deadline } from '../timing/deadline.ts'
import { parseDuration } from '../timing/duration.ts'
import { defaultKeep } from './figures.ts'
import { isTooLarge } from './is-too-large.ts'
import { keepRecord } from './record-keeping.ts'
import type { Abandonment, CompleteOptions, Completion, Run, Unanswered } from './run.ts'

/**
 * A claim as its run sees it.
 *
 * States: *running*, with its lease or without → *ending*, asked of the store → *ended*. Renewal stops first: after an ending
 * whose answer was lost it would find the lock gone, and tell of a loss that is none.
 */
export class ClaimedRun implements Run, Releasing {
  declare readonly key: string
  declare readonly fence: number
  declare readonly overtook: number | undefined
  /** Where it is among the leases of its locker. */
  place = 0
  readonly #context: Context
  readonly #records: RecordStore
  readonly #watch: Watch
  readonly #grant: Grant
  readonly #claim: ClaimRequest
  #abort: AbortController | undefined
  #lostBecause: LossReason | undefined
  #ending: { readonly how: 'complete' | 'abandon' | 'leave'; readonly answer: Promise<unknown> } | undefined
  /** The lock's release, by leaving the run or by closing its locker. */
  #release: Promise<ReleaseResult> | undefined
  /** The locker has told how the lease ended. */
  #told = false
  #heldMs = 0
  /** How long the lock is surely ours, once it is ending. */
  #leftMs: (() => number) | undefined
  #keepNoLonger: (() => void) | undefined
  #ended: (() => void) | undefined

  /** @param repeatMs how often the claim is repeated, so that its record is kept, in milliseconds; false for a lease without renewal */
  constructor(
    context: Context,
    records: RecordStore,
    watch: Watch,
    grant: Grant,
    claim: ClaimRequest,
    overtook: number | undefined,
    repeatMs: number | false,
  ) {
    this.#context = context
    this.#records = records
    this.#watch = watch
    this.#grant = grant
    this.#claim = claim
    this.key = grant.key
    this.fence = grant.fence
    this.overtook = overtook
    grant.holder = this
    context.work.hold(this)
    // The caller may leave, and the work goes on.
    context.work.handOver(
      new Promise<void>((resolve) => {
        this.#ended = resolve
      }),
    )
    if (repeatMs) this.#keepNoLonger = keepRecord(context, records, claim, grant, repeatMs)
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      if (this.#lostBecause) this.#abort.abort(this.#lostError())
    }
    return this.#abort.signal
  }

  remaining(): number {
    return this.#ending ? 0 : Math.max(0, this.#grant.remainingMs())
  }

  assertValid(): void {
    if (this.#ending) throw this.#endedError()
    this.#grant.check()
    if (this.#lostBecause) throw this.#lostError()
  }

  complete(result: Uint8Array | null, { keep, resultOnly }: CompleteOptions = {}): Promise<Completion> {
    return this.#end('complete', () => {
      const keepMs = parseDuration('keep', keep ?? defaultKeep)
      let kept = result instanceof Uint8Array && result.length > mostResultBytes ? null : result
      checkResult(kept)
      this.#stop()
      const { key, fingerprint } = this.#claim
      const { token } = this.#grant
      const send = (call: CallDeadline): Promise<CompleteOutcome> =>
        this.#records.complete({ key, token, fingerprint, result: kept, keepMs }, call)
      const read = (given: CompleteOutcome = silence): CompleteOutcome => {
        if (resultOnly || !kept || !isTooLarge(given)) return given
        // That the work is done matters more than its result, and needs no more room than the record has. So that is sent next.
        kept = null
        return given.type === 'refused' ? { ...silence, cause: given.error } : given
      }
      return this.#finish<CompleteOutcome, Completion>(send, () => ({ type: 'completed', result: kept !== null }), read)
    })
  }

  abandon(): Promise<Abandonment> {
    return this.#end('abandon', () => {
      this.#stop()
      const { key, token } = this.#grant
      const send = (call: CallDeadline): Promise<AbandonOutcome> => this.#records.abandon({ key, token }, call)
      return this.#finish<AbandonOutcome, Abandonment>(send, ({ type }) => ({
        type: type as 'abandoned' | 'completed',
      }))
    })
  }

  async leave(): Promise<ReleaseResult> {
    if (this.#ending && this.#ending.how !== 'leave') {
      await this.#ending.answer
      return 'released'
    }
    return this.#end('leave', () => {
      this.#forget()
      return this.#giveBack()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
  }

  /** For the locker that is closed. The lease is lost, and the run goes on: its record may still be completed, or given up. */
  release(): Promise<unknown> {
    return this.#ending?.answer ?? this.#giveBack()
  }

  lose(reason: LossReason): void {
    this.#grant.lose(reason)
  }

  onReleased(result: ReleaseResult): void {
    this.#over(result)
  }

  onLost(reason: LossReason): void {
    this.#lostBecause = reason
    this.#forget()
    const error = this.#lostError()
    this.#abort?.abort(error)
    this.#context.emit?.({ type: 'lost', key: this.key, fence: this.fence, reason, cause: error.cause })
    this.#context.work.drop(this)
  }

  /** Begins the first ending, and answers a repeat of it as the first. */
  #end<T>(how: 'complete' | 'abandon' | 'leave', begin: () => Promise<T>): Promise<T> {
    if (this.#ending) {
      return this.#ending.how === how ? (this.#ending.answer as Promise<T>) : Promise.reject(this.#endedError())
    }
    try {
      const heldMs = Math.round(this.#grant.heldMs())
      const answer = begin()
      this.#heldMs = heldMs
      this.#ending = { how, answer }
      answer.then(this.#ended, this.#ended)
      this.#context.work.handOver(answer)
      return answer
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #giveBack(): Promise<ReleaseResult> {
    this.#release ??= releaseGrant(this.#context, this.#grant, this)
    return this.#release
  }

  /**
   * Asks the store to end the run, for a command deadline. Without an answer the request goes on in the background, while the lock
   * is surely ours.
   */
  async #finish<O extends CompleteOutcome | AbandonOutcome, T>(
    send: (call: CallDeadline) => Promise<O>,
    mine: (outcome: O) => T,
    read?: (given: O | undefined) => O,
  ): Promise<T | NotMine | Unanswered> {
    const question = { send: (attempt: Attempt<O>) => attempt.follow(send(attempt)), ...(read && { read }) }
    const outcome = await this.#ask<O>(question as Question<O>)
    if (!isUnknown(outcome)) {
      const { type } = outcome
      this.#over(type === 'gone' ? 'expired' : type === 'superseded' ? type : 'released')
      return type === 'gone' || type === 'superseded' ? (outcome as NotMine) : mine(outcome)
    }
    const leftMs = this.#leftMs ?? (() => 0)
    this.#context.work.background(async () => {
      const last = leftMs() > 1 ? await this.#ask<O>({ ...(question as Question<O>), leftMs }) : outcome
      this.#over(isUnknown(last) ? 'unknown' : 'released')
    })
    return { type: 'unknown', cause: outcome.cause }
  }

  /** A refusal is no answer either: nobody knows better than before. */
  async #ask<O>(question: Question<O>): Promise<Exclude<O, Refused> | Unknown> {
    const { outcome, before } = await ask<O>(this.#context, this.#grant.ttlMs, question).catch(failed(this.#context))
    const { type, error } = outcome as Refused
    return type === 'refused' ? { type: 'unknown', executed: before, cause: error } : (outcome as Exclude<O, Refused>)
  }

  /** It ends, and can be lost no more. */
  #stop(): void {
    this.#leftMs = deadline(this.#context.clock, Math.max(0, this.#grant.remainingMs()))
    this.#forget()
    this.#grant.end()
  }

  /** Renews no more. */
  #forget(): void {
    this.#keepNoLonger?.()
    this.#watch.forget(this.#grant)
  }

  #over(outcome: ReleaseResult): void {
    this.#context.work.drop(this)
    if (this.#told) return
    this.#told = true
    const { key, fence } = this
    this.#context.emit?.({ type: 'released', key, fence, outcome, heldMs: this.#heldMs })
  }

  #lostError(): LeaseLostError {
    const reason = this.#lostBecause as LossReason
    return new LeaseLostError(this.key, reason, reason === 'unreachable' ? this.#grant.trouble : undefined)
  }

  #endedError(): LeaseholdError {
    return new LeaseholdError('LEASE_RELEASED', `The run of "${this.key}" has ended; claim it again`, { key: this.key })
  }
}
