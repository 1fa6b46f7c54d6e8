import type { Clock } from './clock.ts'

/**
 * One timer for things that come and go all the time. It is set again only if it would fire too late for one of them. A
 * standing timer stays when all of them have gone, and fires once more to no effect: setting and canceling a timer for
 * each of them would cost more than everything else that is done for them here.
 */
export class StandingTimer {
  readonly #clock: Clock
  readonly #onTimer: () => void
  readonly #mode: 'standing' | 'background'
  #atMs = Infinity
  #cancel: (() => void) | undefined

  /**
   * @param onTimer finds out what is due, and sets the timer again for the rest
   * @param mode    `standing` if it may stay, `background` if it belongs to one call
   */
  constructor(clock: Clock, onTimer: () => void, mode: 'standing' | 'background') {
    this.#clock = clock
    this.#onTimer = onTimer
    this.#mode = mode
  }

  /**
   * Ensures that it fires no later than `atMs`, in monotonic milliseconds. If it is overdue by more than a second, it
   * is set to fire at once: a test may have set it on fake timers and then removed them.
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

  /** Nothing needs the timer anymore. */
  rest(): void {
    if (this.#mode === 'standing') return
    this.#cancel?.()
    this.#atMs = Infinity
  }
}
