/** Counts signals for one subscription and calls back those who wait for the next. A level, not an edge. */
export class SignalCount {
  #signals = 0
  readonly #waiting = new Set<() => void>()

  get signals(): number {
    return this.#signals
  }

  /** Counts one more, and calls back everybody who waits, once. */
  add(): void {
    this.#signals++
    const called = [...this.#waiting]
    this.#waiting.clear()
    for (const callback of called) callback()
  }

  /** Calls back once when the count has moved beyond `seen`, at once if it has already; returns what withdraws it. */
  onSignal(seen: number, callback: () => void): () => void {
    if (this.#signals > seen) {
      callback()
      return () => undefined
    }
    // Its own function, so that the same callback may wait twice and each be withdrawn alone.
    const waiting = (): void => callback()
    this.#waiting.add(waiting)
    return () => this.#waiting.delete(waiting)
  }

  /** Calls nobody back any more. */
  forget(): void {
    this.#waiting.clear()
  }
}
