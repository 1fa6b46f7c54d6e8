import { homeContext } from '#sharing'
import type { CallDeadline } from '../../timing/call-deadline.ts'
import type { RedisTransport, ScriptCall, ScriptReply } from '../redis-transport.ts'
import type { ConnectedClient } from './connected-client.ts'
import { Delivery, type Route, untilReady } from './delivery.ts'

/**
 * A transport over a client that keeps connections, for authors of such adapters.
 *
 * A call waits here until its connection is ready, not in the client's offline queue, so that nothing is sent once its deadline
 * is over. When a thousand calls were given up on a connection and it stays silent for another 2 s, it gets one call each half
 * second until it answers or is replaced. If the server refuses to let the client in, the call ends at once with the server's
 * words.
 *
 * A connection that a call begins belongs to the async context in which `connectedTransport` was called.
 */
export function connectedTransport<C extends object>(to: ConnectedClient<C>): RedisTransport {
  const route: Route<C> = { to, home: homeContext() }
  return {
    commandDeadlineMs: 2_000,
    cluster: to.cluster,
    countsSubscribers: !to.cluster,
    overlaps: !to.cluster,
    nodeOf: (key) => to.nodeOf(key),
    whenReady: (key, deadline) => (to.obstacle(key) ? untilReady(route, key, deadline) : undefined),
    run: (calls, deadline) => run(route, calls, deadline),
  }
}

/** Sends what can be sent now, in one write for each connection. Resolves when all is answered or the deadline is over. */
const run = <C extends object>(
  route: Route<C>,
  calls: readonly ScriptCall[],
  deadline: CallDeadline,
): Promise<readonly ScriptReply[]> =>
  new Promise((resolve) => {
    new Round(route, calls, deadline, resolve).begin()
  })

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

  begin(): void {
    if (this.#deadline.isOver || this.#open === 0) {
      this.#settle()
      return
    }
    this.#withdraw = this.#deadline.onOver(() => {
      for (const delivery of this.#deliveries) delivery.giveUp()
      this.#settle()
    })
    const { to } = this.#route
    if (this.#open === 1 || !to.inOneWrite) this.#beginAll()
    else to.inOneWrite(() => this.#beginAll())
  }

  /** One of the calls is answered, or will not be sent. */
  onEnd(): void {
    if (--this.#open > 0) return
    this.#withdraw?.()
    this.#settle()
  }

  #beginAll(): void {
    for (const delivery of this.#deliveries) delivery.begin()
  }

  #settle(): void {
    this.#resolve(this.#deliveries.map(({ reply }) => reply))
  }
}
