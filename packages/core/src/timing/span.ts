/** Notified when a span is ended early. */
export interface SpanListener {
  onSpanEnd(): void
}

/**
 * Work that somebody may end early, such as a wait or a call to a store. It does what an AbortController does, but
 * costs less: most spans end by themselves, so the signal is made on first read.
 */
export class Span {
  isOver = false
  /** Why it was ended early. */
  reason: unknown
  /** Replaced, never mutated. Most spans have one listener at most, which needs no list. */
  #listeners: SpanListener | readonly SpanListener[] | undefined
  #signal: AbortSignal | undefined

  /** Aborted when the span is ended. */
  get signal(): AbortSignal {
    if (!this.#signal) {
      const abort = new AbortController()
      this.#signal = abort.signal
      this.onOver(() => abort.abort(this.reason))
    }
    return this.#signal
  }

  /** Notifies a listener once: when the span is ended, or at once if it has been. */
  add(listener: SpanListener): void {
    if (this.isOver) listener.onSpanEnd()
    else this.#listeners = this.#listeners ? [...this.#all(), listener] : listener
  }

  remove(listener: SpanListener): void {
    this.#listeners = this.#listeners === listener ? undefined : this.#all().filter((each) => each !== listener)
  }

  /** Calls back once: when the span is ended, or at once if it has been. Returns a function that withdraws it. */
  onOver(callback: () => void): () => void {
    const listener = { onSpanEnd: callback }
    this.add(listener)
    return () => this.remove(listener)
  }

  /** Ends the span when a signal is aborted, with the signal's reason. Returns a function that stops listening. */
  endWith(signal: AbortSignal): () => void {
    const end = (): void => this.end(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    return () => signal.removeEventListener('abort', end)
  }

  /** Ends the span. Only the first call counts. */
  end(reason?: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.reason = reason
    for (const listener of this.#all()) listener.onSpanEnd()
    this.#listeners = undefined
  }

  #all(): readonly SpanListener[] {
    const listeners = this.#listeners ?? []
    return 'onSpanEnd' in listeners ? [listeners] : listeners
  }
}
