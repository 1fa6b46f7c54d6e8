import type { NotifierState } from '../waiting/release-notifier.ts'

/** What keeps releases from being heard: no connection, a refused subscription, or releases that nobody announces. */
export type Trouble = 'connection' | 'refusal' | 'silence'

/** Reports a notifier's troubles: `disconnected` once for each of them, and `reconnected` once when all are over. */
export class NotifierTroubles {
  readonly #listeners = new Set<(state: NotifierState) => void>()
  readonly #troubles = new Map<Trouble, { readonly cause: unknown; readonly about: string | undefined }>()
  /** `disconnected` has been reported, and `reconnected` has not been since. */
  #isDisconnected = false

  /** Adds a listener. It is called at once for each present trouble. */
  onStateChange(listener: (state: NotifierState) => void): () => void {
    // A new function each time, so that the same listener may be added twice and withdrawn once.
    const told = (state: NotifierState): void => listener(state)
    this.#listeners.add(told)
    for (const { cause } of this.#troubles.values()) void tell(told, { type: 'disconnected', cause })
    return () => this.#listeners.delete(told)
  }

  /** @param about `end` and `forget` must name the same */
  begin(trouble: Trouble, cause: unknown, about?: string): void {
    if (this.#troubles.has(trouble)) return
    this.#troubles.set(trouble, { cause, about })
    this.#isDisconnected = true
    this.#tell({ type: 'disconnected', cause })
  }

  /** The trouble is over: the server has shown it. */
  end(trouble: Trouble, about?: string): void {
    this.forget(trouble, about)
    if (!this.#isDisconnected || this.#troubles.size > 0) return
    this.#isDisconnected = false
    this.#tell({ type: 'reconnected' })
  }

  /**
   * Drops a trouble that nobody asks the server about any more, and that would therefore never end. It may or may not be over.
   */
  forget(trouble: Trouble, about?: string): void {
    if (this.#troubles.get(trouble)?.about === about) this.#troubles.delete(trouble)
  }

  #tell(state: NotifierState): void {
    for (const listener of [...this.#listeners]) void tell(listener, state)
  }
}

/** Async, so that a listener that throws causes an unhandled rejection and does not disturb its caller. */
const tell = async (listener: (state: NotifierState) => void, state: NotifierState): Promise<void> => listener(state)
