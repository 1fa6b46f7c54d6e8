/** Who listens to what, as the channels of Redis. */
export class Subscribers {
  readonly #listeners: Map<string, Set<(payload: string) => void>> = new Map()

  /** Returns what stops it. */
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
   * Tells them after the present call, so that no waiter runs inside somebody else's request, or makes it fail. Answers how many
   * there are.
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
