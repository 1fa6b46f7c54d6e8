/**
 * The clock port: core reads the time and sets timers only through this.
 *
 * It has two readings, because either alone can be wrong: a monotonic clock may stop while a machine or isolate is frozen, and a
 * wall clock may be set. The testkit has a manual clock.
 */
export interface Clock {
  /** Milliseconds from an arbitrary start, never going back. */
  monotonicMs(): number
  /** Milliseconds since the epoch. */
  wallMs(): number
  /**
   * Calls `callback` once, `delayMs` from now or later, and returns a function that cancels it. A `background` timer
   * does not keep the process alive, if the runtime supports that. A `standing` timer is a background timer that may be
   * left running: if nothing needs it anymore, it fires to no effect. Any finite delay is allowed.
   */
  schedule(callback: () => void, delayMs: number, mode?: 'background' | 'standing'): () => void
}

/** Runtimes keep a timer's delay in 32 bits, and a longer one would fire at once. So a long wait is a chain of timers. */
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
