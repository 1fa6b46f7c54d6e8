import type { Clock } from '@leasehold/core'
import { backoffMs, type CheckOutcome, jitter, type LeaseStore } from '@leasehold/core/adapter'
import type { CheckReason } from './bridge-events.ts'
import type { Seen } from './paced-check.ts'
import { RedisProblem } from './redis-problem.ts'
import { askStore, checkDeadlineMs } from './store-call.ts'

/** The most keys of one call: a script that reads this many keeps Redis busy for less than a millisecond. */
export const mostKeysPerCall = 128
/** The most calls in flight: the second one travels while Redis works on the first, and later checks gather. */
const mostCalls = 2
/** How long checks after a reconnect wait for others like them, in milliseconds, so that they fill a call. */
export const gatherMs = 20
/**
 * How many keys of a call are reserved for checks after a reconnect, so that other checks cannot hold them up forever.
 */
const keptForLater = 32
/** The pause after a call that got no answer at all, in milliseconds. It doubles with each such call in a row. */
const pauseMs = { from: 50, to: 1_000 }

/** A check that is due but has not been sent. */
export interface DueCheck {
  readonly key: string
  readonly reason: CheckReason
  readonly wanted: () => boolean
  readonly sinceMs: number
  readonly settle: (seen: Seen) => void
}

export interface LaneOptions {
  readonly store: Pick<LeaseStore, 'checkHolders'>
  readonly clock: Clock
  /** Called after each call; `problem` says why not all keys were answered. */
  readonly onAsked: (keys: number, problem: RedisProblem | undefined) => void
}

/**
 * The checks for the keys of one node, batched into few calls of many keys, in the order in which they fall due.
 *
 * States: *well* → *failing*, after a call that got no answer at all → *well*, after one that got some. While failing,
 * there is one call at a time, with a growing pause in between. A check that has been due for as long as a call may
 * take ends as unavailable, as if it had been sent with the call that failed.
 */
export class CheckLane {
  readonly #options: LaneOptions
  readonly #first: DueCheck[] = []
  /** Checks after a reconnect. They can wait: their waiters already know a state. */
  readonly #later: DueCheck[] = []
  #calls = 0
  /** The number of calls in a row that got no answer. */
  #failures = 0
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #willSend = false
  #stopTimer: (() => void) | undefined

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** Checks that fall due in the same turn of the event loop go out together. */
  add(check: DueCheck): void {
    const queue = check.reason === 'reconnected' ? this.#later : this.#first
    queue.push(check)
    if (this.#willSend) return
    this.#willSend = true
    queueMicrotask(() => {
      this.#willSend = false
      this.#send()
    })
  }

  #send(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    while (this.#isDue && this.#calls < (this.#failures > 0 ? 1 : mostCalls)) {
      const delayMs = this.#sendsAtMs() - this.#options.clock.monotonicMs()
      if (delayMs > 0) {
        this.#stopTimer = this.#options.clock.schedule(() => this.#send(), delayMs, 'background')
        return
      }
      const checks = this.#take()
      if (checks.length > 0) void this.#ask(checks)
    }
  }

  /** Whether nothing is due or in flight, and no pause has to be kept. */
  get isIdle(): boolean {
    return !this.#isDue && this.#calls === 0 && this.#options.clock.monotonicMs() >= this.#notBeforeMs
  }

  get #isDue(): boolean {
    return this.#first.length + this.#later.length > 0
  }

  #sendsAtMs(): number {
    const isGathering = this.#first.length === 0 && this.#later.length < mostKeysPerCall
    const gatheredMs = isGathering ? (this.#later[0]?.sinceMs ?? 0) + gatherMs : 0
    return Math.max(this.#notBeforeMs, gatheredMs)
  }

  /** Takes the checks for the next call, skipping those that nobody needs anymore. */
  #take(): readonly DueCheck[] {
    const taken: DueCheck[] = []
    const take = (queue: DueCheck[], most: number): void => {
      let count = 0
      let passed = 0
      for (; passed < queue.length && count < most; passed++) {
        const check = queue[passed] as DueCheck
        if (check.wanted()) count = taken.push(check) && count + 1
        else check.settle({ type: 'unwanted' })
      }
      queue.splice(0, passed)
    }
    take(this.#later, keptForLater)
    take(this.#first, mostKeysPerCall - taken.length)
    take(this.#later, mostKeysPerCall - taken.length)
    return taken
  }

  async #ask(checks: readonly DueCheck[]): Promise<void> {
    const { store, clock, onAsked } = this.#options
    this.#calls++
    const outcomes = await askStore(
      store,
      clock,
      checks.map(({ key }) => key),
    )
    this.#calls--
    const seen = outcomes.map(seenIn)
    const problem = seen.find(isProblem)?.problem
    onAsked(checks.length, problem)
    for (const [index, each] of seen.entries()) checks[index]?.settle(each)
    if (problem && seen.every(isProblem)) this.#backOff(problem)
    else this.#failures = 0
    this.#send()
  }

  #backOff(problem: RedisProblem): void {
    const nowMs = this.#options.clock.monotonicMs()
    this.#notBeforeMs = nowMs + backoffMs(pauseMs.from, pauseMs.to, ++this.#failures, jitter())
    for (const queue of [this.#first, this.#later]) {
      const young = queue.findIndex(({ sinceMs }) => sinceMs > nowMs - checkDeadlineMs)
      const old = queue.splice(0, young < 0 ? queue.length : young)
      for (const { settle } of old) settle({ type: 'unavailable', problem })
    }
  }
}

type Answer = Extract<Seen, { type: 'checked' | 'unavailable' }>

const isProblem = (seen: Answer): seen is Extract<Seen, { type: 'unavailable' }> => seen.type === 'unavailable'

function seenIn(outcome: CheckOutcome): Answer {
  if (outcome.type === 'checked') return outcome
  const problem =
    outcome.type === 'refused'
      ? new RedisProblem('Redis refuses checks', outcome.error)
      : new RedisProblem('Redis does not answer checks', outcome.cause)
  return { type: 'unavailable', problem }
}
