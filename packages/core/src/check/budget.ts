import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { deadline, sleep, withDeadline } from '../timing/deadline.ts'

/** The time that one check may take. Everything the check awaits goes through here, so nothing outlasts it. */
export class Budget {
  readonly clock: Clock
  readonly #leftMs: () => number
  readonly #signal: AbortSignal | undefined

  constructor(clock: Clock, withinMs: number, signal: AbortSignal | undefined) {
    this.clock = clock
    this.#leftMs = deadline(clock, withinMs)
    this.#signal = signal
  }

  /** Whether the time is over. */
  get isSpent(): boolean {
    return this.#leftMs() <= 0
  }

  /**
   * Makes a call. Resolves with undefined if no answer came in time, the call rejected, or no time was left to make it.
   *
   * @throws the signal's own reason when it is aborted
   */
  async ask<T>(limitMs: number, run: (call: CallDeadline) => Promise<T>): Promise<T | undefined> {
    const forMs = Math.min(limitMs, this.#leftMs())
    if (forMs <= 0) return undefined
    try {
      return await withDeadline(this.clock, forMs, run, undefined, this.#signal)
    } catch {
      // The ports never reject what is asked here, so this is the signal, or a broken store, which counts as no answer.
      this.#signal?.throwIfAborted()
      return undefined
    }
  }

  /**
   * Waits for a callback. Resolves with whether it came in time.
   *
   * @throws the signal's own reason when it is aborted
   */
  async hears(limitMs: number, listen: (heard: () => void) => () => void): Promise<boolean> {
    let isHeard = false
    await sleep(this.clock, Math.max(0, Math.min(limitMs, this.#leftMs())), this.#signal, (wake) =>
      listen(() => {
        isHeard = true
        wake()
      }),
    )
    return isHeard
  }
}
