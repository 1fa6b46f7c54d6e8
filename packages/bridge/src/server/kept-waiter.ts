import type { Clock } from '@leasehold/core'
import type { LookOutcome } from '@leasehold/core/queue'
import type { WaitAnswer } from './poll-queue.ts'
import type { WaiterName } from './wait-query.ts'

/**
 * How long a waiter counts as kept without the store's confirmation, in milliseconds. After that it should look for
 * itself.
 */
const unconfirmedMs = 4_000

export interface PlaceRequest {
  readonly waiter: WaiterName
  /** The cursor to return when the timeout passes. */
  readonly cursor: string
  readonly timeoutMs: number
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
}

/** `unkept`: the store does not let the bridge ask about its queues. */
export type PlaceAnswer = WaitAnswer | { readonly type: 'unkept' }

/** The key that a waiter waits for. */
export interface QueuedKey {
  readonly key: string
  /** Handles the outcome of a look about one of its waiters. */
  looked(waiter: KeptWaiter, outcome: LookOutcome): void
}

/**
 * A waiter in a queue whose poll is open. There may be thousands, so it is one object, and also the event listener for
 * its client's leaving.
 */
export class KeptWaiter {
  readonly kept: QueuedKey
  readonly waiter: WaiterName
  /** When the last look about it was sent, in monotonic milliseconds. */
  lookedMs: number = -Infinity
  readonly #request: PlaceRequest
  readonly #clock: Clock
  readonly #onEnd: (answer: PlaceAnswer) => void
  /** When the store last confirmed that it is in the queue, in monotonic milliseconds; undefined until it has. */
  #confirmedMs: number | undefined
  #stopTimer: (() => void) | undefined
  #hasEnded = false

  /** @param onEnd called once */
  constructor(kept: QueuedKey, request: PlaceRequest, clock: Clock, onEnd: (answer: PlaceAnswer) => void) {
    this.kept = kept
    this.waiter = request.waiter
    this.#request = request
    this.#clock = clock
    this.#onEnd = onEnd
  }

  begin(): void {
    const { gone, timeoutMs, cursor } = this.#request
    if (gone.aborted) {
      this.end({ type: 'gone' })
      return
    }
    this.#stopTimer = this.#clock.schedule(() => this.end({ type: 'unchanged', cursor }), timeoutMs, 'background')
    gone.addEventListener('abort', this)
  }

  /** The client has left. */
  handleEvent(): void {
    this.end({ type: 'gone' })
  }

  /** The store says that it is in the queue. */
  confirmed(): void {
    this.#confirmedMs = this.#clock.monotonicMs()
  }

  /** The store has not answered. */
  unanswered(): void {
    const sinceMs = this.#confirmedMs ?? -Infinity
    if (this.#clock.monotonicMs() - sinceMs >= unconfirmedMs) this.end({ type: 'unavailable' })
  }

  refused(): void {
    if (this.#confirmedMs === undefined) this.end({ type: 'unkept' })
    else this.unanswered()
  }

  end(answer: PlaceAnswer): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#stopTimer?.()
    this.#request.gone.removeEventListener('abort', this)
    this.#onEnd(answer)
  }
}
