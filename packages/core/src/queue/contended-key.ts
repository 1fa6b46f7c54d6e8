import type { Unknown } from '../store/lease-store.ts'
import { mostNamed } from '../store/queue-figures.ts'
import type { ReleaseNotifier, Subscription } from '../waiting/release-notifier.ts'

/** What a look needs to know of a waiter. */
export interface Named {
  readonly number: number
  /** Whether the store has said that it is in the queue, and it waits there. */
  readonly isQueued: boolean
  /** How long it may go without a look, in milliseconds. */
  readonly recheckMs: number
}

/** A key that waiters of this process queue for, and when to ask the store about them. */
export class ContendedKey<W extends Named> {
  readonly key: string
  /** In the order in which they entered the queue. */
  readonly waiters: Set<W> = new Set()
  /** When a look is due, in monotonic milliseconds. */
  dueMs: number = Infinity
  /** Whether the look is due only because time has passed. Such a look may come earlier, together with another. */
  isRecheck = false
  /** When the last look was sent, in monotonic milliseconds. */
  lookedMs: number = -Infinity
  isLooking = false
  /** Why the last look stayed unanswered; undefined if it was answered. */
  failure: Unknown | undefined
  readonly #subscription: Subscription
  #seen: number
  #withdraw: (() => void) | undefined
  #isClosed = false

  /**
   * @param onRelease called when the lock may have been given back by a holder whose release gives nobody the turn,
   *   such as one that knows of no queue
   */
  constructor(key: string, notifier: ReleaseNotifier, onRelease: () => void) {
    this.key = key
    this.#subscription = notifier.subscribe(key, '-')
    this.#seen = this.#subscription.signals
    this.#listen(onRelease)
    // Nobody heard a release between the waiter's try and the subscription.
    void this.#subscription.ready.then(() => {
      if (!this.#isClosed && this.#subscription.live) onRelease()
    })
  }

  /** The first waiters in the queue, as many as a look names. */
  first(): readonly W[] {
    return [...this.waiters].filter(({ isQueued }) => isQueued).slice(0, mostNamed)
  }

  recheckMs(): number {
    let leastMs = Infinity
    for (const { recheckMs } of this.waiters) leastMs = Math.min(leastMs, recheckMs)
    return leastMs
  }

  close(): void {
    this.#isClosed = true
    this.#withdraw?.()
    this.#subscription.close()
  }

  #listen(onRelease: () => void): void {
    this.#withdraw = this.#subscription.onSignal(this.#seen, () => {
      this.#seen = this.#subscription.signals
      onRelease()
      if (!this.#isClosed) this.#listen(onRelease)
    })
  }
}
