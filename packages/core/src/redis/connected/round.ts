import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { SpanListener } from '../../timing/span.ts'
import type { ScriptCall, ScriptReply } from '../redis-transport.ts'
import { Delivery, type Recipient, type Route } from './delivery.ts'

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
    if (calls.length > 0) new Round(route, calls, deadline, resolve).begin(route, behind)
    else resolve([])
  })

/** Calls that are sent together. */
class Round<C extends object> implements Recipient, SpanListener {
  readonly #deadline: CallDeadline
  readonly #resolve: (replies: readonly ScriptReply[]) => void
  readonly #deliveries: Delivery<C>[]
  readonly #replies: ScriptReply[]
  /** How many have no reply yet. */
  #open: number

  constructor(
    route: Route<C>,
    calls: readonly ScriptCall[],
    deadline: CallDeadline,
    resolve: (replies: readonly ScriptReply[]) => void,
  ) {
    this.#deadline = deadline
    this.#resolve = resolve
    this.#open = calls.length
    this.#replies = new Array(calls.length)
    this.#deliveries = new Array(calls.length)
    for (let at = 0; at < calls.length; at++)
      this.#deliveries[at] = new Delivery(route, calls[at] as ScriptCall, deadline, this, at)
  }

  begin({ to }: Route<C>, behind: (() => void) | undefined): void {
    // One listener for all: a signal warns of more than ten.
    this.#deadline.add(this)
    // The time may have been over already.
    if (this.#open === 0) return
    if (to.inOneWrite && (this.#open > 1 || behind)) to.inOneWrite(() => this.#send(behind))
    else this.#send(behind)
  }

  #send(behind: (() => void) | undefined): void {
    for (const delivery of this.#deliveries) delivery.begin()
    // With nothing before it, it would say nothing, and a line that has gone silent would keep it.
    if (behind && this.#deliveries.some(({ isHandedOver }) => isHandedOver)) behind()
  }

  onReply(reply: ScriptReply, at: number): void {
    this.#replies[at] = reply
    if (--this.#open > 0) return
    this.#deadline.remove(this)
    this.#resolve(this.#replies)
  }

  /** The deadline is over. */
  onSpanEnd(): void {
    for (const delivery of this.#deliveries) delivery.giveUp()
  }
}
