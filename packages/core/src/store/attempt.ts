import { Call } from '../timing/call-deadline.ts'
import type { Instant } from '../timing/validity.ts'
import type { Unknown } from './lease-store.ts'

/** The one that made an attempt, and learns how it goes. */
export interface Asker<O> {
  /** The request has left. */
  sent(attempt: Attempt<O>): void
  /** Undefined means no answer. */
  settle(attempt: Attempt<O>, outcome: O | Unknown | undefined): void
  /** The store rejected, which it may only do for a bad option. */
  reject(error: unknown): void
  /** The time that it was to be waited for is over. */
  timeUp(attempt: Attempt<O>): void
}

/** One attempt to get a request answered. Its sender has to settle it once, or to reject it with `asker.reject`. */
export class Attempt<O> extends Call {
  declare readonly asker: Asker<O>
  /** When it was sent, or made if it has not been sent yet. What its answer grants counts from then. */
  declare sentAt: Instant
  /** The store has it. */
  isSent = false
  /** It waits behind other requests of this process. */
  isQueued = false
  /** Its sender says when its time is up, with `asker.timeUp`. */
  isTimed = false

  constructor(asker: Asker<O>, withinMs: number, madeAt: Instant) {
    super(withinMs)
    this.asker = asker
    this.sentAt = madeAt
  }

  /** The request leaves now. */
  send(at: Instant): void {
    this.isSent = true
    this.sentAt = at
    this.asker.sent(this)
  }

  /** The request was sent when the attempt was made, and this brings its answer. */
  follow(answer: Promise<O | Unknown | undefined>): void {
    this.send(this.sentAt)
    answer.then(
      (outcome) => this.settle(outcome),
      (error: unknown) => this.reject(error),
    )
  }

  settle(outcome: O | Unknown | undefined): void {
    this.asker.settle(this, outcome)
  }

  reject(error: unknown): void {
    this.asker.reject(error)
  }
}
