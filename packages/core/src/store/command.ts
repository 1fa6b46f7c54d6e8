import { Call, type CallDeadline } from '../timing/call-deadline.ts'
import type { SpanListener } from '../timing/span.ts'
import { type Instant, instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import type { CommandTimes, Timed } from './command-times.ts'
import { mostPerCommand } from './figures.ts'
import type { Unknown } from './lease-store.ts'

/**
 * Requests that leave together. As a call it has the shortest of their deadlines, and is over once all callers have
 * given up.
 *
 * States: *open*, perhaps *queued* behind other commands → *sent* → *answered*, or over.
 */
export class Command extends Call implements SpanListener, Timed {
  requests: unknown[]
  attempts: Attempt<unknown>[]
  /** Index in the roster of commands whose time is running. */
  place = 0
  dueMs = 0
  readonly #times: CommandTimes
  /** The longest deadline among its requests, in milliseconds. */
  #longestMs: number
  #isQueued = false
  #isSent = false
  #givenUp = 0

  constructor(times: CommandTimes, request: unknown, attempt: Attempt<unknown>) {
    super(attempt.withinMs)
    this.#times = times
    this.#longestMs = attempt.withinMs
    this.requests = [request]
    this.attempts = [attempt]
    this.#watch(attempt)
  }

  /** What tells the store about the callers' time. */
  get call(): CallDeadline {
    return this.attempts.length === 1 ? (this.attempts[0] as CallDeadline) : this
  }

  /** Adds a request, unless there are too many already or the deadlines differ too much. Returns whether it did. */
  join(request: unknown, attempt: Attempt<unknown>, most: number = mostPerCommand): boolean {
    const leastMs = Math.min(this.withinMs, attempt.withinMs)
    const longestMs = Math.max(this.#longestMs, attempt.withinMs)
    if (this.requests.length >= most || longestMs > 2 * leastMs) return false
    this.withinMs = leastMs
    this.#longestMs = longestMs
    this.requests.push(request)
    this.attempts.push(attempt)
    this.#watch(attempt)
    return true
  }

  /** Moves the later half of its requests to a new command. It must have several. */
  halve(): Command {
    const from = Math.ceil(this.requests.length / 2)
    const requests = this.requests.splice(from)
    const attempts = this.attempts.splice(from)
    for (const attempt of attempts) attempt.remove(this)
    const half = new Command(this.#times, requests[0], attempts[0] as Attempt<unknown>)
    for (let at = 1; at < attempts.length; at++) half.join(requests[at], attempts[at] as Attempt<unknown>)
    return half
  }

  /** The command has to wait its turn. */
  queue(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    for (const attempt of this.attempts) attempt.isQueued = true
    this.time(instant(this.#times.clock))
  }

  /** The command leaves now, without the callers that have given up. Returns whether any are left. */
  send(): boolean {
    this.#isSent = true
    const sentAt = instant(this.#times.clock)
    for (let at = 0; at < this.attempts.length; at++) this.attempts[at]?.send(sentAt)
    return this.attempts.length > 0
  }

  settle(outcomes: readonly unknown[]): void {
    this.#times.end(this)
    for (let at = 0; at < this.attempts.length; at++) this.attempts[at]?.settle(outcomes?.[at])
  }

  /** The store has rejected it. One bad request must not cost the others their answer, so each of several goes alone. */
  reject(error: unknown, sendAlone: (request: unknown, attempt: Attempt<unknown>) => void): void {
    const [first, ...others] = this.attempts
    if (others.length === 0) {
      this.#times.end(this)
      first?.reject(error)
      return
    }
    // The timer keeps running for them.
    for (const [at, attempt] of this.attempts.entries()) {
      if (attempt.isOver) attempt.settle(undefined)
      else sendAlone(this.requests[at], attempt)
    }
  }

  /** One of the callers has given up. */
  onSpanEnd(): void {
    if (!this.#isSent) this.#takeOut()
    else if (++this.#givenUp === this.attempts.length) {
      this.#times.end(this)
      this.end()
    }
  }

  #watch(attempt: Attempt<unknown>): void {
    // The timer of a queued command may have been running for a while.
    attempt.isTimed = !this.#isQueued
    attempt.isQueued = this.#isQueued
    attempt.add(this)
  }

  /**
   * Starts its time. Requests whose time is up together are repeated together.
   *
   * @param now the present moment; if omitted, its time counts from when it was sent
   */
  time(now: Instant = (this.attempts[0] as Attempt<unknown>).sentAt): void {
    this.#times.begin(this, this.withinMs, now)
  }

  timeUp(): void {
    for (const attempt of [...this.attempts]) attempt.timeUp()
  }

  #takeOut(): void {
    const { requests, attempts } = this
    this.requests = requests.filter((_, at) => !attempts[at]?.isOver)
    this.attempts = attempts.filter(({ isOver }) => !isOver)
    if (this.attempts.length === 0) this.#times.end(this)
    for (const attempt of attempts) if (attempt.isOver) attempt.settle(notSent)
  }
}

export const notSent: Unknown = {
  type: 'unknown',
  executed: 'no',
  cause: new Error('The request was not sent: its caller gave up before its turn'),
}
