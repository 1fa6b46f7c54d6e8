/** The listeners of each channel, like pub/sub in Redis. */
export class Subscribers {
  readonly #listeners: Map<string, Set<(payload: string) => void>> = new Map()

  /** Returns a function that stops listening. */
  listen(channel: string, listener: (payload: string) => void): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set()
    this.#listeners.set(channel, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(channel) === listeners) this.#listeners.delete(channel)
    }
  }

  count(channel: string): number {
    return this.#listeners.get(channel)?.size ?? 0
  }

  /**
   * Notifies listeners after the current call, so that no waiter runs inside somebody else's request or makes it fail.
   * Returns how many there are.
   */
  tell(channel: string, payload: string): number {
    const listeners = this.#listeners.get(channel)
    if (!listeners) return 0
    for (const listener of listeners) {
      queueMicrotask(() => {
        if (listeners.has(listener)) listener(payload)
      })
    }
    return listeners.size
  }
}
