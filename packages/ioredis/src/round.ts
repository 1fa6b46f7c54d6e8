import type { CallDeadline } from '@leasehold/core/adapter'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { inOneWrite } from './connections.ts'
import { Delivery, type Route } from './delivery.ts'

/**
 * Sends what can be sent now, in one write for each connection. Resolves when all is answered or the deadline is over.
 *
 * @param then sends something behind the calls, in the same write
 */
export const run = (
  route: Route,
  calls: readonly ScriptCall[],
  deadline: CallDeadline,
  then?: () => void,
): Promise<readonly ScriptReply[]> =>
  new Promise((resolve) => {
    new Round(route, calls, deadline, resolve).begin(then)
  })

/** Calls that are sent together. */
class Round {
  readonly #route: Route
  readonly #deadline: CallDeadline
  readonly #deliveries: readonly Delivery[]
  readonly #resolve: (replies: readonly ScriptReply[]) => void
  #open: number
  #withdraw: (() => void) | undefined

  constructor(
    route: Route,
    calls: readonly ScriptCall[],
    deadline: CallDeadline,
    resolve: (replies: readonly ScriptReply[]) => void,
  ) {
    this.#route = route
    this.#deadline = deadline
    this.#resolve = resolve
    this.#open = calls.length
    this.#deliveries = calls.map((call) => new Delivery(route, call, deadline, this))
  }

  begin(then?: () => void): void {
    if (this.#deadline.isOver || this.#open === 0) {
      this.#settle()
      return
    }
    this.#withdraw = this.#deadline.onOver(() => {
      for (const delivery of this.#deliveries) delivery.giveUp()
      this.#settle()
    })
    if (this.#open === 1 && !then) this.#deliveries[0]?.begin()
    else {
      inOneWrite(this.#route.client, () => {
        for (const delivery of this.#deliveries) delivery.begin()
        then?.()
      })
    }
  }

  /** One of the calls is answered, or will not be sent. */
  onEnd(): void {
    if (--this.#open > 0) return
    this.#withdraw?.()
    this.#settle()
  }

  #settle(): void {
    this.#resolve(this.#deliveries.map(({ reply }) => reply))
  }
}
