/** A call on its way into the queue of a key. */
export interface Arrival {
  /** Settles once the calls in front of this one have entered or ended; undefined for the first. */
  readonly before: Promise<void> | undefined
  /** Says that the call has entered or ended, so the calls behind it go on. Calling it again does nothing. */
  over(): void
}

/** Lets the calls of a process enter a queue in order of arrival, although the first one tries before it enters. */
export class Arrivals {
  readonly #last = new Map<string, Promise<void>>()

  has(key: string): boolean {
    return this.#last.has(key)
  }

  begin(key: string): Arrival {
    const before = this.#last.get(key)
    let over!: () => void
    const passed = new Promise<void>((resolve) => {
      // A call that ends early does not let those behind it overtake those in front of it.
      over = () => resolve(before)
    })
    this.#last.set(key, passed)
    void passed.then(() => {
      if (this.#last.get(key) === passed) this.#last.delete(key)
    })
    return { before, over }
  }
}
