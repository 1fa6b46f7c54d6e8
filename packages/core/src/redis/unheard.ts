/** What keeps releases from being heard: no connection, a subscription that is refused, or nobody who announces them. */
export type Trouble = 'connection' | 'refusal' | 'silence'

/** Tells those who asked that releases are not heard: once for each trouble, until that is over. */
export class Unheard {
  readonly #listeners = new Set<(cause: unknown) => void>()
  readonly #troubles = new Map<Trouble, { readonly cause: unknown; readonly about: string | undefined }>()

  /** Who comes while there is trouble is told of it at once. */
  onUnheard(listener: (cause: unknown) => void): () => void {
    // Its own function, so that the same listener may come twice and each be withdrawn alone.
    const told = (cause: unknown): void => listener(cause)
    this.#listeners.add(told)
    for (const { cause } of this.#troubles.values()) void tell(told, cause)
    return () => this.#listeners.delete(told)
  }

  /** @param about what `end` has to name then */
  begin(trouble: Trouble, cause: unknown, about?: string): void {
    if (this.#troubles.has(trouble)) return
    this.#troubles.set(trouble, { cause, about })
    for (const listener of [...this.#listeners]) void tell(listener, cause)
  }

  end(trouble: Trouble, about?: string): void {
    if (this.#troubles.get(trouble)?.about === about) this.#troubles.delete(trouble)
  }
}

/** Async, so that a listener that throws is an unhandled rejection and does not end what goes on here. */
const tell = async (listener: (cause: unknown) => void, cause: unknown): Promise<void> => listener(cause)
