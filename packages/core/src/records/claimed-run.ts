import type { Context } from '../context.ts'
import { LeaseholdError } from '../errors.ts'
import type { Grant } from '../lease/grant.ts'
import type { HeldLease } from '../lease/held-lease.ts'
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
import type { Abandonment, CompleteOptions, Completion, Run, Unanswered } from './run.ts'

/**
 * The run of a claim.
 *
 * States: *running*, with or without its lease → *ending*, asked of the store → *ended*. Its lease ends first: renewed
 * after an ending whose answer was lost, it would find the lock gone and report a loss that is none. When its locker is
 * closed, the lease ends and the run goes on: its record may still be completed or given up.
 */
export class ClaimedRun implements Run {
  declare readonly key: string
  declare readonly fence: number
  declare readonly overtook: number | undefined
  readonly #context: Context
  readonly #records: RecordStore
  readonly #lease: HeldLease
  readonly #grant: Grant
  readonly #claim: ClaimRequest
  #ending: { readonly how: 'complete' | 'abandon' | 'leave'; readonly answer: Promise<unknown> } | undefined
  /** How long the lock is surely ours, in milliseconds, once the run is ending. */
  #leftMs: (() => number) | undefined
  /** Tells the lease how it ended, if it ended with the run. */
  #tell: ((result: ReleaseResult) => void) | undefined
  #ended: (() => void) | undefined

  constructor(records: RecordStore, lease: HeldLease, claim: ClaimRequest, overtook: number | undefined) {
    const [context, grant] = lease.parts()
    this.#context = context
    this.#records = records
    this.#lease = lease
    this.#grant = grant
    this.#claim = claim
    this.key = lease.key
    this.fence = lease.fence
    this.overtook = overtook
    // The caller may leave while the work goes on.
    context.work.handOver(
      new Promise<void>((resolve) => {
        this.#ended = resolve
      }),
    )
  }

  get signal(): AbortSignal {
    return this.#lease.signal
  }

  remaining(): number {
    return this.#ending ? 0 : this.#lease.remaining()
  }

  assertValid(): void {
    if (this.#ending) throw this.#endedError()
    // A closed locker gives its leases back. To a run, that is a loss.
    if (this.#lease.lostBecause) throw this.#lease.lostError()
    this.#lease.assertValid()
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
        // That the work is done matters more than its result, and takes no more room than the record has. So that is
        // sent next.
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
    return this.#end('leave', () => this.#lease.release())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
  }

  /** Begins the first ending. A repeat of it gets the same answer. */
  #end<T>(how: 'complete' | 'abandon' | 'leave', begin: () => Promise<T>): Promise<T> {
    if (this.#ending) {
      return this.#ending.how === how ? (this.#ending.answer as Promise<T>) : Promise.reject(this.#endedError())
    }
    try {
      const answer = begin()
      this.#ending = { how, answer }
      answer.then(this.#ended, this.#ended)
      this.#context.work.handOver(answer)
      return answer
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Asks the store to end the run, for a command deadline. Without an answer, the request is repeated in the background
   * while the lock is surely ours.
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
      this.#tell?.(type === 'gone' ? 'expired' : type === 'superseded' ? type : 'released')
      return type === 'gone' || type === 'superseded' ? (outcome as NotMine) : mine(outcome)
    }
    const leftMs = this.#leftMs ?? (() => 0)
    this.#context.work.background(async () => {
      const last = leftMs() > 1 ? await this.#ask<O>({ ...(question as Question<O>), leftMs }) : outcome
      this.#tell?.(isUnknown(last) ? 'unknown' : 'released')
    })
    return { type: 'unknown', cause: outcome.cause }
  }

  /** A refusal is no answer either: nobody knows better than before. */
  async #ask<O>(question: Question<O>): Promise<Exclude<O, Refused> | Unknown> {
    const { outcome, before } = await ask<O>(this.#context, this.#grant.ttlMs, question).catch(failed(this.#context))
    const { type, error } = outcome as Refused
    return type === 'refused' ? { type: 'unknown', executed: before, cause: error } : (outcome as Exclude<O, Refused>)
  }

  /** Ends its lease, which can then no longer be lost. The store's answer says how the lease ended. */
  #stop(): void {
    this.#leftMs = deadline(this.#context.clock, Math.max(0, this.#grant.remainingMs()))
    this.#grant.end()
    void this.#lease.end((_context, _grant, holder) => {
      this.#tell = (result) => holder.onReleased(result, null)
    })
  }

  #endedError(): LeaseholdError {
    return new LeaseholdError('LEASE_RELEASED', `The run of "${this.key}" has ended; claim it again`, { key: this.key })
  }
}
