import type { NotifierState } from '../waiting/release-notifier.ts'

/** Why releases are not heard: there is no connection, the server refuses the subscription, or nobody announces them. */
export type Trouble = 'connection' | 'refusal' | 'silence'

/** Tells whether releases are heard: `disconnected` once for each trouble, and `reconnected` once all of them are over. */
export class Troubles {
  readonly #listeners = new Set<(state: NotifierState) => void>()
  readonly #troubles = new Map<Trouble, { readonly cause: unknown; readonly about: string | undefined }>()
  /** A trouble was told, and `reconnected` was not told since. */
  #isDisconnected = false

  /** A listener that comes while there is trouble is told at once. */
  onStateChange(listener: (state: NotifierState) => void): () => void {
    // Its own function, so that the same listener may come twice and each be withdrawn alone.
    const told = (state: NotifierState): void => listener(state)
    this.#listeners.add(told)
    for (const { cause } of this.#troubles.values()) void tell(told, { type: 'disconnected', cause })
    return () => this.#listeners.delete(told)
  }

  /** @param about the topic, which `end` must then name too */
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

  /** Nobody asks the server any more, so nobody will learn whether the trouble is over. Forgets it, and tells nothing. */
  forget(trouble: Trouble, about?: string): void {
    if (this.#troubles.get(trouble)?.about === about) this.#troubles.delete(trouble)
  }

  #tell(state: NotifierState): void {
    for (const listener of [...this.#listeners]) void tell(listener, state)
  }
}

/** Async: a listener that throws becomes an unhandled rejection, and stops nothing here. */
const tell = async (listener: (state: NotifierState) => void, state: NotifierState): Promise<void> => listener(state)
