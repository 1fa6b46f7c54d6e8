import type { Context } from '../context.ts'
import { about, LeaseholdError } from '../errors.ts'
import type { Budget } from '../options.ts'
import type { Claiming } from '../records/claiming.ts'
import type { Run } from '../records/run.ts'
import { unanswered } from '../store/answered.ts'
import type { StoredRecord } from '../store/records.ts'
import { Span } from '../timing/span.ts'
import { type Instant, instant, waitedMs } from '../timing/validity.ts'
import { fingerprint } from './figures.ts'
import { toBytes } from './json-result.ts'
import { notInTime } from './not-in-time.ts'
import type { OnceRun, OnceWork } from './run.ts'

/** What one call of `once` asks for. */
export interface OnceCall {
  readonly work: OnceWork<unknown>
  readonly keepMs: number
  readonly waitMs: number
  readonly budget: Budget
  readonly signal: AbortSignal | undefined
}

/** A call that waits for the result. */
interface Caller extends OnceCall {
  /** Called when its own work is run: from then on it waits for nobody, and has all the time it takes. */
  onRun(): void
  resolve(result: Uint8Array): void
  reject(error: unknown): void
}

/**
 * The calls of one process for one key that meet. They share a claim, and the result or the error that it brings.
 *
 * States: *claiming*, while a run may be under way elsewhere → *running*, the work of the call that has been here
 * longest → *over*, with a result or an error for all calls that are still here. A run that was lost or overtaken leads
 * back to *claiming*.
 *
 * Each call leaves when its signal or its own wait says so. When the last has left, the claim is undone or the work is
 * told to stop, and the next call begins another flight: it must not inherit the end of this one.
 */
export class Flight {
  readonly #context: Context
  readonly #key: string
  readonly #claim: (signal: AbortSignal) => Claiming
  readonly #onOver: () => void
  readonly #callers = new Set<Caller>()
  readonly #deserted = new AbortController()
  #claiming: Claiming | undefined
  #isRunning = false

  /**
   * @param claim  claims the key's record, and waits for as long as the signal allows
   * @param onOver called before any call settles: nobody may join from then on
   */
  constructor(context: Context, key: string, claim: (signal: AbortSignal) => Claiming, onOver: () => void) {
    this.#context = context
    this.#key = key
    this.#claim = claim
    this.#onOver = onOver
  }

  /** Waits for the result as long as the call says. A call that does not wait has as long as the claim takes. */
  join(call: OnceCall): Promise<Uint8Array> {
    const { clock } = this.#context
    const { signal, waitMs } = call
    const since = instant(clock)
    return new Promise((resolve, reject) => {
      const forget = (): void => {
        waitNoLonger?.()
        signal?.removeEventListener('abort', onAbort)
        this.#callers.delete(caller)
      }
      const leave = (reason: unknown): void => {
        forget()
        reject(reason)
        if (this.#callers.size === 0) this.#desert(reason)
      }
      const onAbort = (): void => leave(signal?.reason)
      const waitNoLonger = waitMs > 0 ? clock.schedule(() => leave(this.#timeout(call, since)), waitMs) : undefined
      const caller: Caller = {
        ...call,
        onRun: () => waitNoLonger?.(),
        resolve(result) {
          forget()
          resolve(result)
        },
        reject(error) {
          forget()
          reject(error)
        },
      }
      signal?.addEventListener('abort', onAbort)
      this.#callers.add(caller)
    })
  }

  /**
   * Brings the result to all calls that are here. Call it once, when the first has joined.
   *
   * @param first the call that has joined. If it does not wait, or has a budget, no other joins
   */
  async run(first: OnceCall): Promise<void> {
    const since = instant(this.#context.clock)
    try {
      const result = await this.#result(first, since)
      this.#onOver()
      for (const caller of this.#callers) caller.resolve(result)
    } catch (error) {
      this.#onOver()
      for (const caller of this.#callers) caller.reject(error)
    }
  }

  async #result(first: OnceCall, since: Instant): Promise<Uint8Array> {
    for (;;) {
      this.#claiming = this.#claim(this.#deserted.signal)
      const found = await this.#claiming.run()
      if (found.type === 'done') return this.#resultOf(found.record)
      if (found.type === 'busy') throw this.#timeout(first, since, found.holder)
      if (found.type !== 'claimed') throw this.#mismatch()
      this.#isRunning = true
      const result = await this.#run(found.run).finally(() => {
        this.#isRunning = false
      })
      if (result) return result
    }
  }

  /** Resolves with undefined if the run has lost its lease: another may have the result, or must bring it. */
  async #run(run: Run): Promise<Uint8Array | undefined> {
    const { key, fence, overtook } = run
    const deserted = this.#deserted.signal
    const [caller] = this.#callers
    if (!caller) {
      await run.abandon()
      throw deserted.reason
    }
    const { work, keepMs } = caller
    caller.onRun()
    const span = new Span()
    for (const signal of [run.signal, deserted]) span.endWith(signal)
    const given: OnceRun = {
      key,
      fence,
      overtook,
      signal: span.signal,
      remaining: () => run.remaining(),
      assertValid: () => run.assertValid(),
    }
    let result: Uint8Array
    try {
      result = toBytes(await work(given))
    } catch (error) {
      const { aborted: isLost } = run.signal
      await run.abandon()
      if (isLost) return undefined
      throw error
    }
    const completion = await run.complete(result, { keep: keepMs, resultOnly: true })
    if (completion.type !== 'superseded') return result
    const { record } = completion
    return record.state === 'running' ? undefined : this.#resultOf(record)
  }

  #resultOf(record: StoredRecord): Uint8Array {
    if (record.state !== 'done' || record.fingerprint !== fingerprint) throw this.#mismatch()
    return record.result
  }

  #desert(reason: unknown): void {
    this.#onOver()
    this.#deserted.abort(reason)
  }

  /**
   * The error of a call whose wait or budget has run out.
   *
   * @param holder the name of the locker whose run is under way elsewhere, null if it has none; undefined if none was
   *   seen
   */
  #timeout(call: OnceCall, since: Instant, holder = this.#claiming?.seen?.holder): unknown {
    const { clock, name } = this.#context
    const heldHere = this.#isRunning
    const at = heldHere ? (name ?? null) : holder
    // The store has not yet said whether a run is under way.
    if (at === undefined) return about(this.#key, unanswered('claim'))
    return notInTime(this.#key, { waitedMs: waitedMs(clock, since), holder: at, heldHere }, call.budget.left < 1)
  }

  #mismatch(): LeaseholdError {
    const key = this.#key
    return new LeaseholdError('KIND_MISMATCH', `The record of "${key}" is not one of once; use another key`, { key })
  }
}
