import { Call } from '../timing/call-deadline.ts'
import type { Instant } from '../timing/validity.ts'
import type { Timed } from './command-times.ts'
import type { Unknown } from './lease-store.ts'

/** Whoever made an attempt, and is notified of its progress. */
export interface Asker<O> {
  /** The request has left. */
  sent(attempt: Attempt<O>): void
  /** The attempt has its outcome; undefined means no answer. */
  settle(attempt: Attempt<O>, outcome: O | Unknown | undefined): void
  /** The store rejected, which it may only do for a bad option. */
  reject(error: unknown): void
  /** The time to wait for the attempt is over. */
  timeUp(attempt: Attempt<O>): void
}

/** One attempt to get a request answered. Its sender must settle it once, or reject it. */
export class Attempt<O> extends Call implements Timed {
  /** Whoever takes over from the asker that made it replaces it here. */
  declare asker: Asker<O>
  /** When it was sent, or made if it has not been sent yet. What its answer grants counts from then. */
  declare sentAt: Instant
  /** Whether it has been passed to the store. */
  isSent = false
  /** Whether it was certainly not carried out. */
  isInVain = false
  /** Whether it waits behind other requests of this process. */
  isQueued = false
  /** Whether its sender reports when its time is up, with `asker.timeUp`. */
  isTimed = false
  place = 0
  dueMs = 0

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

  /** Marks the request as sent when the attempt was made, and settles the attempt with `answer`. */
  follow(answer: Promise<O | Unknown | undefined>): void {
    this.send(this.sentAt)
    answer.then(
      (outcome) => this.settle(outcome),
      (error: unknown) => this.reject(error),
    )
  }

  /** An outcome that cannot be read fails this attempt alone, not others of the same command. */
  settle(outcome: O | Unknown | undefined): void {
    try {
      this.asker.settle(this, outcome)
    } catch (error) {
      this.reject(error)
    }
  }

  reject(error: unknown): void {
    this.asker.reject(error)
  }

  timeUp(): void {
    this.asker.timeUp(this)
  }
}
