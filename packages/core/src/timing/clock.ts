/**
 * The clock port: the only way the core learns the time or sets a timer.
 *
 * Two readings, because either alone can be wrong: monotonic clocks may stop while a machine or isolate is frozen, wall
 * clocks may be set. `testkit` has a manual clock.
 */
export interface Clock {
  /** Milliseconds from an arbitrary start, never going back. */
  monotonicMs(): number
  /** Milliseconds since the epoch. */
  wallMs(): number
  /**
   * Calls `callback` once, no sooner than `delayMs` from now, and returns what cancels it. A `background` timer does not
   * keep the process alive where the runtime can say so. Any finite delay is allowed.
   */
  schedule(callback: () => void, delayMs: number, mode?: 'background'): () => void
}

/** Runtimes keep a timer's delay in 32 bits: a longer one overflows and fires at once. Longer waits are chained. */
const longestTimerMs = 2 ** 31 - 1

/** The clock of the runtime. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  schedule(callback, delayMs, mode) {
    let timer: unknown
    const arm = (leftMs: number): void => {
      const laterMs = leftMs - longestTimerMs
      timer = laterMs > 0 ? setTimeout(arm, longestTimerMs, laterMs) : setTimeout(callback, leftMs)
      if (mode) (timer as { unref?: () => void }).unref?.()
    }
    arm(delayMs)
    return () => clearTimeout(timer as number)
  },
}
