import type { NotifierState } from '../waiting/release-notifier.ts'

/** What keeps releases from being heard: no connection, a subscription that is refused, or nobody who announces them. */
export type Trouble = 'connection' | 'refusal' | 'silence'

/** Tells whether releases are heard: of each trouble once, and once that all of them are over. */
export class Unheard {
  readonly #listeners = new Set<(state: NotifierState) => void>()
  readonly #troubles = new Map<Trouble, { readonly cause: unknown; readonly about: string | undefined }>()
  /** A trouble was told, and not yet that it is over. */
  #isDisconnected = false

  /** Who comes while there is trouble is told of it at once. */
  onStateChange(listener: (state: NotifierState) => void): () => void {
    // Its own function, so that the same listener may come twice and each be withdrawn alone.
    const told = (state: NotifierState): void => listener(state)
    this.#listeners.add(told)
    for (const { cause } of this.#troubles.values()) void tell(told, { type: 'disconnected', cause })
    return () => this.#listeners.delete(told)
  }

  /** @param about what `end` has to name then */
  begin(trouble: Trouble, cause: unknown, about?: string): void {
    if (this.#troubles.has(trouble)) return
    this.#troubles.set(trouble, { cause, about })
    this.#isDisconnected = true
    this.#tell({ type: 'disconnected', cause })
  }

  /** The server has shown that the trouble is over. */
  end(trouble: Trouble, about?: string): void {
    this.forget(trouble, about)
    if (!this.#isDisconnected || this.#troubles.size > 0) return
    this.#isDisconnected = false
    this.#tell({ type: 'reconnected' })
  }

  /** Nobody asks the server any more, so the trouble would never end. Whether it is over nobody knows. */
  forget(trouble: Trouble, about?: string): void {
    if (this.#troubles.get(trouble)?.about === about) this.#troubles.delete(trouble)
  }

  #tell(state: NotifierState): void {
    for (const listener of [...this.#listeners]) void tell(listener, state)
  }
}

/** Async, so that a listener that throws is an unhandled rejection and does not end what goes on here. */
const tell = async (listener: (state: NotifierState) => void, state: NotifierState): Promise<void> => listener(state)
