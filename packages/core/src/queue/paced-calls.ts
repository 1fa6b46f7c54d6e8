import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Unknown } from '../store/lease-store.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { instant } from '../timing/validity.ts'
import { mostUnderWay } from './figures.ts'

/** Sends the request of one attempt, and nothing else with it. */
export type Send<O> = (call: CallDeadline) => Promise<O>

/** A request that waits until one of those before it has ended. */
interface Waiting {
  readonly attempt: Attempt<unknown>
  readonly send: Send<unknown>
}

/** The requests to one node. */
interface Lane {
  underWay: number
  /** Oldest first. */
  readonly waiting: Set<Waiting>
}

/**
 * Sends requests one by one, at most `mostUnderWay` at once to each node. The rest of a burst waits. Sent all at once,
 * thousands of tries would be answered so late that each would be repeated.
 */
export class PacedCalls {
  readonly #context: Context
  readonly #lanes = new Map<string, Lane>()

  constructor(context: Context) {
    this.#context = context
  }

  send<O>(key: string, send: Send<O>, attempt: Attempt<O>): void {
    if (!sharesBetweenCalls()) {
      attempt.follow(send(attempt))
      return
    }
    const { store } = this.#context
    const request: Waiting = { attempt: attempt as Attempt<unknown>, send }
    const obstacle = store.whenReady(key, attempt)
    if (obstacle === undefined) {
      this.#enter(key, request)
      return
    }
    obstacle.then(
      (outcome) => (outcome ? request.attempt.settle(outcome) : this.#enter(key, request)),
      (error: unknown) => attempt.reject(error),
    )
  }

  #enter(key: string, request: Waiting): void {
    const node = this.#context.store.nodeOf(key)
    const lane = this.#lanes.get(node) ?? { underWay: 0, waiting: new Set() }
    this.#lanes.set(node, lane)
    if (lane.underWay < mostUnderWay) {
      this.#leave(node, lane, request)
      return
    }
    const { attempt } = request
    attempt.isQueued = true
    lane.waiting.add(request)
    attempt.onOver(() => {
      if (lane.waiting.delete(request)) attempt.settle(notSent)
    })
  }

  #leave(node: string, lane: Lane, { attempt, send }: Waiting): void {
    lane.underWay++
    let isUnderWay = true
    const ended = (): void => {
      if (!isUnderWay) return
      isUnderWay = false
      lane.underWay--
      const [next] = lane.waiting
      if (!next) {
        // Nodes come and go.
        if (lane.underWay === 0 && this.#lanes.get(node) === lane) this.#lanes.delete(node)
        return
      }
      lane.waiting.delete(next)
      // In the locker's own async context: a request must not keep another caller's context alive.
      void this.#context.home(() => this.#leave(node, lane, next))
    }
    // A silent node must not hold up the waiting requests for longer than their callers wait.
    attempt.onOver(ended)
    attempt.send(instant(this.#context.clock))
    send(attempt).then(
      (outcome) => {
        ended()
        attempt.settle(outcome)
      },
      (error: unknown) => {
        ended()
        attempt.reject(error)
      },
    )
  }
}

const notSent: Unknown = {
  type: 'unknown',
  executed: 'no',
  cause: new Error('The request was not sent: its caller gave up before its turn'),
}
