import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import { Delivery, type Route } from './delivery.ts'

/**
 * Sends what can be sent now, in one write per connection. Resolves when all is answered or the deadline is over.
 *
 * @param behind sends something more in the same write; not called if nothing was sent
 */
export const run = <C extends object>(
  route: Route<C>,
  calls: readonly ScriptCall[],
  deadline: CallDeadline,
  behind?: () => void,
): Promise<readonly ScriptReply[]> =>
  new Promise((resolve) => {
    new Round(route, calls, deadline, resolve).begin(behind)
  })

const replyOf = ({ reply }: { readonly reply: ScriptReply }): ScriptReply => reply

/** Calls that are sent together. */
class Round<C extends object> {
  readonly #route: Route<C>
  readonly #deadline: CallDeadline
  readonly #deliveries: readonly Delivery<C>[]
  readonly #resolve: (replies: readonly ScriptReply[]) => void
  #open: number
  #withdraw: (() => void) | undefined

  constructor(
    route: Route<C>,
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

  begin(behind?: () => void): void {
    if (this.#deadline.isOver || this.#open === 0) {
      this.#settle()
      return
    }
    this.#withdraw = this.#deadline.onOver(() => {
      for (const delivery of this.#deliveries) delivery.giveUp()
      this.#settle()
    })
    const { to } = this.#route
    if ((this.#open === 1 && !behind) || !to.inOneWrite) this.#beginAll(behind)
    else to.inOneWrite(() => this.#beginAll(behind))
  }

  /** One of the calls is answered, or will not be sent. */
  onEnd(): void {
    if (--this.#open > 0) return
    this.#withdraw?.()
    this.#settle()
  }

  #beginAll(behind?: () => void): void {
    for (const delivery of this.#deliveries) delivery.begin()
    // With nothing before it, it would say nothing, and a line that has gone silent would keep it.
    if (this.#deliveries.some(({ isHandedOver }) => isHandedOver)) behind?.()
  }

  #settle(): void {
    this.#resolve(this.#deliveries.map(replyOf))
  }
}
