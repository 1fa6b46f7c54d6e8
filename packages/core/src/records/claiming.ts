import type { Context } from '../context.ts'
import { failedCall, type Shared } from '../key-locker.ts'
import { Grant } from '../lease/grant.ts'
import { HeldLease } from '../lease/held-lease.ts'
import { type Watch, watchFor } from '../lease/watch.ts'
import type { Plan } from '../options.ts'
import { answered, isUnknown, silence, unanswered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Unknown } from '../store/lease-store.ts'
import { commandDeadlineMs } from '../store/question.ts'
import type {
  AbandonOutcome,
  AbandonRequest,
  ClaimOutcome,
  ClaimRequest,
  HolderSeen,
  RecordStore,
  StoredRecord,
} from '../store/records.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { deadline } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant, waitedMs } from '../timing/validity.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import type { Waiter } from '../waiting/release-notifier.ts'
import { ClaimedRun } from './claimed-run.ts'
import { longestUndoPauseMs } from './figures.ts'
import { keepingRecord } from './record-keeping.ts'
import type { Run } from './run.ts'

/** What a claim finds. */
export type RecordClaim =
  /** Nobody has done the work, and this caller does it now. */
  | { readonly type: 'claimed'; readonly run: Run }
  /** The work has been done. The record has the result, unless that was too large (`state: 'too-large'`). */
  | { readonly type: 'done'; readonly record: StoredRecord }
  /** The key was claimed for other work: the fingerprints differ. */
  | { readonly type: 'mismatch' }
  /** Somebody was doing the work, or had the lock, until the wait was over. */
  | ({ readonly type: 'busy' } & HolderSeen)
  /** Somebody began the work and left no word of how it ended. */
  | { readonly type: 'in-doubt'; readonly record: StoredRecord }

/**
 * A claim in progress. It asks, waits while somebody has the lock, and asks again, with one acquisition id until that
 * is spent.
 *
 * An unanswered request may have been carried out, so a claim that ends without a run is undone.
 */
export class Claiming {
  /** The holder that it waits for, as last seen; undefined until it has seen one. */
  seen: HolderSeen | undefined
  readonly #shared: Shared
  readonly #context: Context
  readonly #records: RecordStore
  readonly #plan: Plan
  readonly #wish: Omit<ClaimRequest, 'acquisitionId'>
  readonly #repeatMs: number | false
  readonly #since: Instant
  #request: ClaimRequest
  /** Whether the current claim may have been carried out, or may still be. */
  #open = false
  /** Whether an attempt at it got no answer, so that it may still arrive. */
  #mayArrive = false
  #asking = false
  /** The token of the run. */
  #accepted: string | undefined
  #ended = false
  #waiter: Waiter | undefined

  /** @param repeatMs how often a run repeats its claim, in milliseconds; false for a lease without renewal */
  constructor(
    shared: Shared,
    records: RecordStore,
    plan: Plan,
    wish: Omit<ClaimRequest, 'acquisitionId'>,
    repeatMs: number | false,
  ) {
    this.#shared = shared
    this.#context = shared.context
    this.#records = records
    this.#plan = plan
    this.#wish = wish
    this.#repeatMs = repeatMs
    this.#since = instant(this.#context.clock)
    this.#request = this.#draw()
  }

  async #claim(): Promise<RecordClaim> {
    const { clock, work, emit } = this.#context
    const { key, ttlMs, signal } = this.#plan
    const span = work.begin(signal)
    try {
      for (;;) {
        const { outcome, sentAt, before } = await ask<ClaimOutcome>(this.#context, ttlMs, {
          span,
          send: (attempt) => {
            this.#open = true
            this.#asking = true
            this.#plan.commands++
            this.#plan.budget.left--
            attempt.follow(this.#records.claim(this.#request, attempt))
          },
          read: (given) => this.#checked(given),
          onLate: (late) => this.#onLate(late),
        })
        this.#asking = false
        if (before === 'unknown' || (isUnknown(outcome) && outcome.executed === 'unknown')) this.#mayArrive = true
        this.#open = this.#mayArrive
        // A claim that may have been carried out keeps others out for its ttl, so only one that was not is asked for again.
        if (isUnknown(outcome) && !this.#mayArrive && this.#leftMs() > 1) continue
        const found = answered('claim', key, outcome, before)
        if (found.type === 'claimed') {
          this.#open = true
          const grant = new Grant(clock, key, found.token, found.fence, { sentAt, ttlMs })
          if (grant.remainingMs() >= this.#plan.minValidityMs) return this.#begun(grant, found.overtook)
        } else if (found.type === 'spent') this.#open = true
        else if (found.type !== 'busy') return found
        if (this.#leftMs() <= 1) {
          if (found.type === 'busy') return found
          // A claim came too late, or came and went unseen.
          throw unanswered('claim', { ...silence, executed: 'no' })
        }
        if (found.type === 'busy') {
          this.seen = found
          if (!this.#waiter) {
            emit?.({ type: 'contended', key })
            this.#waiter = this.#context.notifier?.waiter(clock, this.#plan) ?? pollingWaiter(clock, this.#plan)
          }
          await this.#waiter.pause(found, () => this.#leftMs(), span.signal)
          if (this.#leftMs() <= 1) return found
        } else {
          this.#undo()
          this.#request = this.#draw()
          this.#mayArrive = false
        }
      }
    } finally {
      this.#ended = true
      this.#waiter?.close()
      this.#undo()
      work.end(span)
    }
  }

  /** Makes the claim. If it fails, that is reported as for an acquire. */
  async run(): Promise<RecordClaim> {
    try {
      return await this.#claim()
    } catch (error) {
      failedCall(this.#context, this.#plan, this.#since, error)
    }
  }

  #draw(): ClaimRequest {
    return { ...this.#wish, acquisitionId: drawAcquisitionId(this.#context.name) }
  }

  #leftMs(): number {
    const { waitMs, budget } = this.#plan
    return budget.left < 1 ? 0 : waitMs - elapsedMs(instant(this.#context.clock), this.#since)
  }

  #checked(given: ClaimOutcome | undefined): ClaimOutcome | Unknown {
    if (given?.type === 'claimed' && !given.token.startsWith(`${this.#request.acquisitionId}.`)) return silence
    return given ?? silence
  }

  /** The work is ours. */
  #begun(grant: Grant, overtook: number | undefined): RecordClaim {
    const { clock, work, emit } = this.#context
    const { signal } = this.#plan
    this.#waiter?.granted?.()
    this.#accepted = grant.token
    this.#open = false
    const { commands } = this.#plan
    const watch = this.#watchFor(grant)
    const waited = { waitedMs: waitedMs(clock, this.#since), commands }
    const lease = new HeldLease(this.#context, watch, undefined, grant, waited)
    const run = new ClaimedRun(this.#records, lease, this.#request, overtook)
    if (signal?.aborted || grant.lostBecause) {
      // The caller gave up at that very moment, or the locker was closed, and nothing has begun.
      work.background(() => run.abandon())
      signal?.throwIfAborted()
      work.assertOpen()
    }
    watch.watch(grant, this.#plan)
    const { key, fence } = grant
    emit?.({ type: 'acquired', key, fence, ...waited })
    return { type: 'claimed', run }
  }

  #watchFor(grant: Grant): Watch {
    const watch = watchFor(this.#context, this.#plan, this.#shared.queue() && this.#shared.jointRenewal)
    if (!this.#repeatMs) return watch
    return keepingRecord(watch, this.#context, this.#records, this.#request, grant, this.#repeatMs)
  }

  /**
   * A claim was answered after its attempt had been given up. The next try finds it; if there is none, it is abandoned,
   * because nobody will run it.
   */
  #onLate(late: ClaimOutcome): void {
    if (late.type !== 'claimed' || late.token === this.#accepted) return
    const { key, acquisitionId } = this.#request
    if (!this.#ended && late.token.startsWith(`${acquisitionId}.`)) {
      this.#mayArrive = true
      this.#waiter?.wake()
    } else this.#context.work.background(() => this.#abandon({ key, token: late.token }))
  }

  /**
   * Undoes in the background what may have been claimed. Nothing has begun, so the key need not be in doubt.
   *
   * However long the store is silent, the request is repeated until it answers, until the locker is closed, or until
   * the record is forgotten by itself. The request may overtake a claim that got no answer, so in that case it is sent
   * once more.
   */
  #undo(): void {
    if (!this.#open) return
    this.#open = false
    const { key, acquisitionId, ttlMs, keepMs } = this.#request
    const { clock, work } = this.#context
    const leftMs = deadline(clock, keepMs)
    let answersLeft = this.#mayArrive || this.#asking ? 2 : 1
    let pauseMs = commandDeadlineMs(this.#context, ttlMs)
    work.background(async () => {
      for (;;) {
        const silent = isUnknown(await this.#abandon({ key, acquisitionId }))
        if ((!silent && --answersLeft === 0) || leftMs() <= pauseMs) return
        // During an outage, this keeps no process alive.
        await new Promise<void>((resolve) => clock.schedule(resolve, pauseMs, silent ? 'background' : undefined))
        if (silent) {
          work.assertOpen()
          pauseMs = Math.min(2 * pauseMs, longestUndoPauseMs)
        }
      }
    })
  }

  async #abandon(request: AbandonRequest): Promise<AbandonOutcome> {
    const { outcome } = await ask<AbandonOutcome>(this.#context, this.#wish.ttlMs, {
      send: (attempt) => attempt.follow(this.#records.abandon(request, attempt)),
    })
    return outcome
  }
}
