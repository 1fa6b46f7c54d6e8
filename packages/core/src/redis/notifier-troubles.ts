import type { NotifierState } from '../waiting/release-notifier.ts'

/** Why releases are not heard: there is no connection, a subscription is refused, or nobody announces them. */
export type Trouble = 'connection' | 'refusal' | 'silence'

/** Reports whether releases are heard: each trouble once, again when its cause changes, and once when all are over. */
export class NotifierTroubles {
  readonly #listeners = new Set<(state: NotifierState) => void>()
  readonly #troubles = new Map<Trouble, { readonly cause: unknown; readonly about: string | undefined }>()
  /** A trouble was reported, and its end was not yet. */
  #isDisconnected = false

  /** A listener that registers while there is trouble hears of it at once. */
  onStateChange(listener: (state: NotifierState) => void): () => void {
    // A separate function, so that the same listener may register twice and withdraw each registration by itself.
    const told = (state: NotifierState): void => listener(state)
    this.#listeners.add(told)
    for (const { cause } of this.#troubles.values()) void tell(told, { type: 'disconnected', cause })
    return () => this.#listeners.delete(told)
  }

  /** @param about what `end` must then name */
  begin(trouble: Trouble, cause: unknown, about?: string): void {
    const known = this.#troubles.get(trouble)
    // A server that is away may come back and refuse, which is a different problem. The messages of the other troubles
    // differ with every count or topic.
    if (known && (trouble !== 'connection' || messageOf(known.cause) === messageOf(cause))) return
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

  /** Drops a trouble that would never end, because nobody asks the server anymore. Nobody knows whether it is over. */
  forget(trouble: Trouble, about?: string): void {
    if (this.#troubles.get(trouble)?.about === about) this.#troubles.delete(trouble)
  }

  #tell(state: NotifierState): void {
    for (const listener of [...this.#listeners]) void tell(listener, state)
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Async, so that a listener that throws causes an unhandled rejection instead of interrupting the work here. */
const tell = async (listener: (state: NotifierState) => void, state: NotifierState): Promise<void> => listener(state)
