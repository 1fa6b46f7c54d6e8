import { Call, type CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import type { SpanListener } from '../timing/span.ts'
import { instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import { mostInCompany } from './figures.ts'
import type { Unknown } from './lease-store.ts'

/** Requests that leave together. As a call it has the shortest of their deadlines, and is over once all have given up. */
export class Command extends Call implements SpanListener {
  requests: unknown[]
  attempts: Attempt<unknown>[]
  /** The longest of their deadlines, in milliseconds. */
  #longestMs: number
  /** Whether it does not leave in the turn in which it was made. */
  #isHeld = false
  #hasLeft = false
  #givenUp = 0

  constructor(request: unknown, attempt: Attempt<unknown>) {
    super(attempt.withinMs)
    this.#longestMs = attempt.withinMs
    this.requests = [request]
    this.attempts = [attempt]
  }

  /** What the store is told of the callers' time. */
  get call(): CallDeadline {
    return this.attempts.length === 1 ? (this.attempts[0] as CallDeadline) : this
  }

  /** Adds a request, unless there are too many already, or the deadlines differ too much. */
  join(request: unknown, attempt: Attempt<unknown>): boolean {
    const leastMs = Math.min(this.withinMs, attempt.withinMs)
    const longestMs = Math.max(this.#longestMs, attempt.withinMs)
    if (this.requests.length >= mostInCompany || longestMs > 2 * leastMs) return false
    this.withinMs = leastMs
    this.#longestMs = longestMs
    this.requests.push(request)
    this.attempts.push(attempt)
    if (this.#isHeld) attempt.add(this)
    return true
  }

  /** It has to wait. Whoever gives up meanwhile is taken out. */
  hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    for (const attempt of this.attempts) attempt.add(this)
  }

  /** It leaves now, without those who have given up. Answers whether anybody is left. */
  leave(clock: Clock): boolean {
    this.#takeOut()
    this.#hasLeft = true
    const sentAt = instant(clock)
    const isShared = this.attempts.length > 1
    for (const attempt of this.attempts) {
      attempt.send(sentAt)
      if (isShared && !this.#isHeld) attempt.add(this)
    }
    return this.attempts.length > 0
  }

  /** One of the callers has given up. */
  onSpanEnd(): void {
    if (!this.#hasLeft) this.#takeOut()
    else if (++this.#givenUp === this.attempts.length) this.end()
  }

  #takeOut(): void {
    const { requests, attempts } = this
    if (!attempts.some(({ isOver }) => isOver)) return
    this.requests = requests.filter((_, at) => !attempts[at]?.isOver)
    this.attempts = attempts.filter(({ isOver }) => !isOver)
    for (const attempt of attempts) if (attempt.isOver) attempt.settle(notSent)
  }
}

const notSent: Unknown = {
  type: 'unknown',
  executed: 'no',
  cause: new Error('The request was not sent: its caller gave up before its turn'),
}
