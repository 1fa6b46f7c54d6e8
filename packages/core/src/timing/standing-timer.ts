import type { Clock } from './clock.ts'

/**
 * One timer for things that come and go all the time. It is set only if it would come too late for one of them. Where it may stay,
 * it stays when all have gone, comes once more for nothing, and ends: to set a timer and to cancel it for each of them costs more
 * than all else that is done for them here.
 */
export class StandingTimer {
  readonly #clock: Clock
  readonly #onTimer: () => void
  readonly #mayStay: boolean
  #atMs = Infinity
  #cancel: (() => void) | undefined

  /**
   * @param onTimer finds out what is due, and sets the timer again for what is not
   * @param mayStay not where it belongs to one call
   */
  constructor(clock: Clock, onTimer: () => void, mayStay: boolean) {
    this.#clock = clock
    this.#onTimer = onTimer
    this.#mayStay = mayStay
  }

  /** Makes sure that it comes no later than `atMs`, in monotonic milliseconds. */
  setBy(atMs: number, nowMs: number): void {
    if (atMs >= this.#atMs) return
    this.#cancel?.()
    this.#atMs = atMs
    const onTimer = (): void => {
      this.#atMs = Infinity
      this.#onTimer()
    }
    const delayMs = Math.max(1, Math.ceil(atMs - nowMs))
    this.#cancel = this.#clock.schedule(onTimer, delayMs, this.#mayStay ? 'standing' : 'background')
  }

  /** Nothing needs it any more. */
  rest(): void {
    if (this.#mayStay) return
    this.#cancel?.()
    this.#atMs = Infinity
  }
}
