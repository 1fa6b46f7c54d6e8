import type { Instant } from '../timing/validity.ts'
import { type Asker, Attempt } from './attempt.ts'
import type { Unknown } from './lease-store.ts'

/**
 * The first attempt of a request, while nothing goes wrong. Most requests need no other, so it keeps nothing that only a
 * repeat, a timer of its own or an early end would need. Whatever else happens, `ask` takes the attempt over.
 *
 * States: *attempting* → *over* with the answer that was hoped for, or *taken over*.
 */
export abstract class FirstAttempt<O> implements Asker<O> {
  readonly attempt: Attempt<O>
  isOver = false

  /** @param withinMs how long to wait for it before the next attempt, in milliseconds: see `attemptMs` */
  constructor(withinMs: number, madeAt: Instant) {
    this.attempt = new Attempt<O>(this, withinMs, madeAt)
  }

  /** Sends the request. */
  protected abstract send(attempt: Attempt<O>): void
  /** Takes the answer that was hoped for. Returns false for any other, and for none. */
  protected abstract take(outcome: O | Unknown | undefined): boolean
  /** Lets `ask` take the attempt over, which replaces its asker. */
  protected abstract handOver(): void
  /** The request has left. */
  protected onSent?(): void

  begin(): void {
    const { attempt } = this
    try {
      this.send(attempt)
    } catch (error) {
      this.reject(error)
    }
    if (this.isOurs && !attempt.isTimed) this.handOver()
  }

  /** Whether the attempt is under way and has not been taken over. */
  protected get isOurs(): boolean {
    return !this.isOver && this.attempt.asker === this
  }

  sent(attempt: Attempt<O>): void {
    // It waited its turn, so less time may be left than its sender gives it from now on.
    if (attempt.isQueued) this.#inOtherHands()?.sent(attempt)
    else this.onSent?.()
  }

  settle(attempt: Attempt<O>, outcome: O | Unknown | undefined): void {
    if (this.take(outcome)) this.isOver = true
    else this.#inOtherHands()?.settle(attempt, outcome)
  }

  reject(error: unknown): void {
    this.#inOtherHands()?.reject(error)
  }

  timeUp(attempt: Attempt<O>): void {
    this.#inOtherHands()?.timeUp(attempt)
  }

  /** Whoever has taken it over. Undefined if it is over. */
  #inOtherHands(): Asker<O> | undefined {
    if (this.isOver) return undefined
    this.handOver()
    return this.attempt.asker
  }
}
