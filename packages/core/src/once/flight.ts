import type { Context } from '../context.ts'
import { AcquireTimeoutError, LeaseholdError } from '../errors.ts'
import type { Budget } from '../options.ts'
import type { RecordClaim } from '../records/claiming.ts'
import type { Run } from '../records/run.ts'
import type { StoredRecord } from '../store/records.ts'
import { Span } from '../timing/span.ts'
import { type Instant, instant, waitedMs } from '../timing/validity.ts'
import { fingerprint } from './figures.ts'
import { toBytes } from './json-result.ts'
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
  /** Its work is run now. So it waits for nobody, and has all the time that its work takes. */
  onRun(): void
  resolve(result: Uint8Array): void
  reject(error: unknown): void
}

/**
 * The calls of one process for one key that meet. They share a claim, and the result or the error that comes of it.
 *
 * States: *claiming*, while somebody elsewhere may be at it → *running*, the work of the call that has been here longest → *over*,
 * with a result or an error for all who are still here. A run that was lost or overtaken leads back to *claiming*.
 *
 * Each call leaves when its signal or its own wait says so. When the last has gone, the claim is undone or the work told to stop,
 * and whoever comes next begins another flight: it must not inherit the end of this one.
 */
export class Flight {
  readonly #context: Context
  readonly #key: string
  readonly #claim: (signal: AbortSignal) => Promise<RecordClaim>
  readonly #onOver: () => void
  readonly #callers = new Set<Caller>()
  readonly #deserted = new AbortController()
  #isRunning = false

  /**
   * @param claim       claims the key's record, and waits for as long as the signal allows
   * @param onOver called before anybody is told: nobody may join from now on
   */
  constructor(context: Context, key: string, claim: (signal: AbortSignal) => Promise<RecordClaim>, onOver: () => void) {
    this.#context = context
    this.#key = key
    this.#claim = claim
    this.#onOver = onOver
  }

  /** Waits for the result as long as the call says. A call without a wait has as long as the claim takes. */
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
      const waitNoLonger = waitMs > 0 ? clock.schedule(() => leave(this.#timeout(since, call)), waitMs) : undefined
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

  /** Brings all who are here the result. Call it once, when the first has joined. */
  async run(): Promise<void> {
    const since = instant(this.#context.clock)
    try {
      const result = await this.#result(since)
      this.#onOver()
      for (const caller of this.#callers) caller.resolve(result)
    } catch (error) {
      this.#onOver()
      for (const caller of this.#callers) caller.reject(error)
    }
  }

  async #result(since: Instant): Promise<Uint8Array> {
    for (;;) {
      const found = await this.#claim(this.#deserted.signal)
      if (found.type === 'done') return this.#resultOf(found.record)
      const [caller] = this.#callers
      if (found.type === 'busy') throw this.#timeout(since, caller, found.holder)
      if (found.type !== 'claimed') throw this.#mismatch()
      const result = await this.#run(found.run)
      if (result) return result
      if (caller && caller.budget.left < 1) throw this.#timeout(since, caller)
    }
  }

  /** Answers nothing if the run has lost its lease, and another may have the result or must bring it. */
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
    this.#isRunning = true
    let result: Uint8Array
    try {
      result = toBytes(await work(given))
    } catch (error) {
      const { aborted: isLost } = run.signal
      await run.abandon()
      if (isLost) return undefined
      throw error
    } finally {
      this.#isRunning = false
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

  #timeout(since: Instant, call: OnceCall | undefined, holder: string | null = null): AcquireTimeoutError {
    const figures = {
      waitedMs: waitedMs(this.#context.clock, since),
      commands: 0,
      lateGrants: 0,
      holder,
      heldHere: this.#isRunning,
    }
    return new AcquireTimeoutError(this.#key, figures, call)
  }

  #mismatch(): LeaseholdError {
    const key = this.#key
    return new LeaseholdError('KIND_MISMATCH', `The record of "${key}" is not one of once; use another key`, { key })
  }
}
