/** What a call to a store or a server is told of its caller's time. */
export interface CallDeadline {
  /** How long the caller waits for the answer, counted from the beginning of the call, in milliseconds. */
  readonly withinMs: number
  /** The caller does not wait any more. What has not been sent by then should not be sent later. */
  readonly isOver: boolean
  /** Calls back once when it is over, at once if it is already; returns what withdraws the callback. */
  onOver(callback: () => void): () => void
  /** Aborted when it is over. Made when it is first read, as it costs more than the rest of a call: for clients that need one. */
  readonly signal: AbortSignal
}

/** One call, whose deadline is over when whoever made it says so. */
export class Call implements CallDeadline {
  declare readonly withinMs: number
  isOver = false
  readonly #callbacks = new Set<() => void>()
  #signal: AbortSignal | undefined

  constructor(withinMs: number) {
    this.withinMs = withinMs
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      const abort = new AbortController()
      this.#signal = abort.signal
      this.onOver(() => abort.abort())
    }
    return this.#signal
  }

  onOver(callback: () => void): () => void {
    if (this.isOver) callback()
    else this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }

  /** The caller does not wait any more. */
  end(): void {
    this.isOver = true
    for (const callback of this.#callbacks) callback()
    this.#callbacks.clear()
  }
}
