import type { Clock } from './clock.ts'

/**
 * One timer for things that come and go all the time. It is set only if it would come too late for one of them. Where it may stay,
 * it stays when all have gone, comes once more for nothing, and ends: to set a timer and to cancel it for each of them costs more
 * than all else that is done for them here.
 */
export class StandingTimer {
  readonly #clock: Clock
  readonly #onTimer: () => void
  readonly #mode: 'standing' | 'background'
  #atMs = Infinity
  #cancel: (() => void) | undefined

  /**
   * @param onTimer finds out what is due, and sets the timer again for what is not
   * @param mode    `standing` where it may stay, but not where it belongs to one call
   */
  constructor(clock: Clock, onTimer: () => void, mode: 'standing' | 'background') {
    this.#clock = clock
    this.#onTimer = onTimer
    this.#mode = mode
  }

  /**
   * Makes sure that it comes no later than `atMs`, in monotonic milliseconds. If it is overdue by a second it comes at once: a test
   * may have set it on fake timers, and taken them away.
   */
  setBy(atMs: number, nowMs: number): void {
    if (this.#atMs < nowMs - 1_000) atMs = nowMs
    else if (atMs >= this.#atMs) return
    this.#cancel?.()
    this.#atMs = atMs
    const onTimer = (): void => {
      this.#atMs = Infinity
      this.#onTimer()
    }
    this.#cancel = this.#clock.schedule(onTimer, Math.max(1, Math.ceil(atMs - nowMs)), this.#mode)
  }

  /** Nothing needs it any more. */
  rest(): void {
    if (this.#mode === 'standing') return
    this.#cancel?.()
    this.#atMs = Infinity
  }
}
