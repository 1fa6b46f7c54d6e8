import type { Instant } from '../timing/validity.ts'
import { type Asker, Attempt } from './attempt.ts'
import type { Unknown } from './lease-store.ts'

/**
 * The first attempt of a request, while nothing goes wrong. Most requests need no other, so it keeps nothing that only a
 * repeat, a timer of its own or an early end would need. Whatever else happens, `ask` takes the attempt over.
 *
 * States: *attempting* → *over* with the answer that was hoped for, or *taken over*.
 *
 * @typeParam O what the store answers
 * @typeParam T what is made of the answer that was hoped for
 */
export abstract class FirstAttempt<O, T> implements Asker<O> {
  readonly attempt: Attempt<O>
  #isOver = false
  #resolve: ((taken: T | undefined) => void) | undefined

  /** @param withinMs how long to wait for it before the next attempt, in milliseconds: see `attemptMs` */
  constructor(withinMs: number, madeAt: Instant) {
    this.attempt = new Attempt<O>(this, withinMs, madeAt)
  }

  /** Sends the request. */
  protected abstract send(attempt: Attempt<O>): void
  /** Takes the answer that was hoped for. Returns undefined for any other, and for none. */
  protected abstract take(outcome: O | Unknown | undefined): T | undefined
  /** Lets `ask` take the attempt over, which replaces its asker. */
  protected abstract takeOver(): void
  /** The request has left. */
  protected onSent?(): void

  /**
   * Sends the request. Resolves with what was made of the answer, or with undefined once it has been taken over. Whoever
   * awaits it continues in an async context of its own, not in the one in which the answer was read.
   */
  protected begin(): Promise<T | undefined> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      const { attempt } = this
      try {
        this.send(attempt)
      } catch (error) {
        this.reject(error)
      }
      if (!attempt.isTimed) this.handOver()
    })
  }

  /** Has the attempt taken over, unless it is over or has been. */
  protected handOver(): void {
    if (this.#isOver || this.attempt.asker !== this) return
    this.takeOver()
    this.#resolve?.(undefined)
  }

  sent(attempt: Attempt<O>): void {
    // It waited its turn, so less time may be left than its sender gives it from now on.
    if (attempt.isQueued) this.#inOtherHands()?.sent(attempt)
    else this.onSent?.()
  }

  settle(attempt: Attempt<O>, outcome: O | Unknown | undefined): void {
    const taken = this.take(outcome)
    if (taken) {
      this.#isOver = true
      this.#resolve?.(taken)
    } else this.#inOtherHands()?.settle(attempt, outcome)
  }

  reject(error: unknown): void {
    this.#inOtherHands()?.reject(error)
  }

  timeUp(attempt: Attempt<O>): void {
    this.#inOtherHands()?.timeUp(attempt)
  }

  /** Whoever has taken it over. Undefined if it is over. */
  #inOtherHands(): Asker<O> | undefined {
    this.handOver()
    return this.#isOver ? undefined : this.attempt.asker
  }
}
