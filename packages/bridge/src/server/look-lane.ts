import type { Clock } from '@leasehold/core'
import { httpAliveMs, mostRecheckMs } from '@leasehold/core/adapter'
import type { LookOutcome, QueueStore } from '@leasehold/core/queue'
import type { OnBridgeEvent } from './bridge-events.ts'
import type { KeptKey } from './kept-key.ts'
import type { KeptWaiter } from './kept-waiter.ts'
import { RedisProblem } from './redis-problem.ts'
import { inTime } from './store-call.ts'

/** The most waiters in one call, which keeps Redis busy for a few milliseconds. */
const mostPerCall = 100
/** The most calls in flight: the second one travels while Redis works on the first. */
const mostCalls = 2
/** A waiter that is due within this time joins the next call, in milliseconds, so that there are few calls. */
const soonMs = 500
/** The least time between two looks that move the queue of one key on, in milliseconds. */
const leastMoveMs = 10

export interface LookLaneOptions {
  readonly queue: QueueStore
  readonly clock: Clock
  readonly onEvent: OnBridgeEvent
}

/**
 * Looks for the waiters of one node: at once for new ones and for queues that may move on, and every two seconds for
 * all.
 */
export class LookLane {
  readonly #options: LookLaneOptions
  /** The waiters; the one whose last look is longest ago comes first. */
  readonly #waiters = new Set<KeptWaiter>()
  readonly #fresh = new Set<KeptWaiter>()
  readonly #moves = new Set<KeptKey>()
  #calls = 0
  #willSend = false
  #stopTimer: (() => void) | undefined

  constructor(options: LookLaneOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#waiters.size === 0 && this.#calls === 0
  }

  add(waiter: KeptWaiter): void {
    this.#waiters.add(waiter)
    this.#fresh.add(waiter)
    this.#soon()
  }

  remove(waiter: KeptWaiter): void {
    this.#waiters.delete(waiter)
    this.#fresh.delete(waiter)
    if (this.#waiters.size > 0) return
    this.#moves.clear()
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }

  /** The queue of a key may move on. */
  move(kept: KeptKey): void {
    if (!kept.anyone) return
    this.#moves.add(kept)
    this.#soon()
  }

  lookAgain(): void {
    for (const waiter of this.#waiters) waiter.lookedMs = -Infinity
    this.#soon()
  }

  /** What falls due in the same turn of the event loop goes out together. */
  #soon(): void {
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
    while (this.#calls < mostCalls) {
      const delayMs = this.#dueMs() - this.#options.clock.monotonicMs()
      if (delayMs > 0) {
        if (delayMs < Infinity) {
          this.#stopTimer = this.#options.clock.schedule(() => this.#send(), delayMs, 'background')
        }
        return
      }
      const taken = this.#take()
      if (taken.length > 0) void this.#look(taken)
    }
  }

  #dueMs(): number {
    if (this.#fresh.size > 0) return -Infinity
    const [first] = this.#waiters
    let dueMs = first ? first.lookedMs + mostRecheckMs : Infinity
    for (const { movedMs } of this.#moves) dueMs = Math.min(dueMs, movedMs + leastMoveMs)
    return dueMs
  }

  /** Takes the waiters for the next call: queues that may move on, then new waiters, then those that are due. */
  #take(): readonly KeptWaiter[] {
    const nowMs = this.#options.clock.monotonicMs()
    const taken = new Set<KeptWaiter>()
    const take = (waiter: KeptWaiter): void => {
      taken.add(waiter)
      this.#fresh.delete(waiter)
      waiter.lookedMs = nowMs
      // Moves it to the end.
      this.#waiters.delete(waiter)
      this.#waiters.add(waiter)
    }
    for (const kept of this.#moves) {
      if (taken.size === mostPerCall) break
      if (kept.movedMs + leastMoveMs > nowMs) continue
      this.#moves.delete(kept)
      kept.movedMs = nowMs
      if (kept.anyone) take(kept.anyone)
    }
    for (const waiter of this.#fresh) {
      if (taken.size === mostPerCall) break
      take(waiter)
    }
    for (const waiter of this.#waiters) {
      if (taken.size === mostPerCall || waiter.lookedMs + mostRecheckMs - soonMs > nowMs) break
      take(waiter)
    }
    return [...taken]
  }

  async #look(waiters: readonly KeptWaiter[]): Promise<void> {
    const { queue, clock, onEvent } = this.#options
    const requests = waiters.map(({ kept, waiter: { inbox, number } }) => {
      return { key: kept.key, inbox, aliveMs: httpAliveMs, numbers: [number] }
    })
    this.#calls++
    const outcomes = await inTime<LookOutcome>(clock, requests.length, (call) => queue.look(requests, call))
    this.#calls--
    const problem = outcomes.map(problemIn).find((each) => each !== undefined)
    const keys = new Set(requests.map(({ key }) => key)).size
    onEvent({ type: 'places-asked', keys, waiters: requests.length, ...(problem && { problem }) })
    for (const [index, waiter] of waiters.entries()) waiter.kept.looked(waiter, outcomes[index] as LookOutcome)
    this.#send()
  }
}

function problemIn(outcome: LookOutcome): RedisProblem | undefined {
  if (outcome.type === 'refused') return new RedisProblem('Redis refuses to keep places in queues', outcome.error)
  return outcome.type === 'unknown' ? new RedisProblem('Redis does not answer checks', outcome.cause) : undefined
}
