/** Counts the signals of one subscription, and calls back whoever waits for the next one. A level, not an edge. */
export class SignalCount {
  #signals = 0
  readonly #waiting = new Set<() => void>()

  get signals(): number {
    return this.#signals
  }

  /** Counts a signal and calls back whoever waits, once. */
  add(): void {
    this.#signals++
    const called = [...this.#waiting]
    this.#waiting.clear()
    for (const callback of called) callback()
  }

  /**
   * Calls back once: when the count exceeds `seen`, or at once if it already does. Returns a function that withdraws
   * the callback.
   */
  onSignal(seen: number, callback: () => void): () => void {
    if (this.#signals > seen) {
      callback()
      return () => undefined
    }
    // A new function each time, so that a callback that waits twice can be withdrawn once.
    const waiting = (): void => callback()
    this.#waiting.add(waiting)
    return () => this.#waiting.delete(waiting)
  }

  /** Drops all callbacks that still wait. */
  forget(): void {
    this.#waiting.clear()
  }
}
