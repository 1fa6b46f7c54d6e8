/** Who is told that a span was ended. */
export interface SpanListener {
  onSpanEnd(): void
}

/**
 * Work that somebody may end early, such as a wait or a call to a store. It does what an AbortController does and costs less:
 * most spans end by themselves, so the signal is made when it is first read.
 */
export class Span {
  isOver = false
  /** Why it was ended early. */
  reason: unknown
  /** Most spans have one listener, if any. */
  #first: SpanListener | undefined
  #others: Set<SpanListener> | undefined
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

  /** Tells a listener once, when the span is ended, or at once if it has been. */
  add(listener: SpanListener): void {
    if (this.isOver) listener.onSpanEnd()
    else if (!this.#first) this.#first = listener
    else {
      this.#others ??= new Set()
      this.#others.add(listener)
    }
  }

  remove(listener: SpanListener): void {
    if (this.#first === listener) this.#first = undefined
    else this.#others?.delete(listener)
  }

  /** Calls back once, when the span is ended or at once if it has been. Returns a function that withdraws the callback. */
  onOver(callback: () => void): () => void {
    const listener = { onSpanEnd: callback }
    this.add(listener)
    return () => this.remove(listener)
  }

  /** Ends it when a signal is aborted, with the signal's reason. Returns a function that withdraws that. */
  endWith(signal: AbortSignal): () => void {
    const end = (): void => this.end(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    return () => signal.removeEventListener('abort', end)
  }

  /** Ends it. Only the first call counts. */
  end(reason?: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.reason = reason
    const first = this.#first
    this.#first = undefined
    first?.onSpanEnd()
    for (const other of this.#others ?? []) other.onSpanEnd()
  }
}
