/** A call on its way into the queue of a key. */
export interface Arrival {
  /** Settles once those in front of it have entered or ended. Undefined for the first. */
  readonly before: Promise<void> | undefined
  /** It has entered, or has ended: whoever came after it goes on. Calling it again does nothing. */
  over(): void
}

/** Lets the calls of a process enter a queue in the order in which they came, though the first tries before it enters. */
export class Arrivals {
  readonly #last = new Map<string, Promise<void>>()

  has(key: string): boolean {
    return this.#last.has(key)
  }

  begin(key: string): Arrival {
    const before = this.#last.get(key)
    let over!: () => void
    const passed = new Promise<void>((resolve) => {
      // Whoever ends early is not in front of those who came before it.
      over = () => resolve(before)
    })
    this.#last.set(key, passed)
    void passed.then(() => {
      if (this.#last.get(key) === passed) this.#last.delete(key)
    })
    return { before, over }
  }
}
