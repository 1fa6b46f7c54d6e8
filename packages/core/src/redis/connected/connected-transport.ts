import { homeContext } from '#sharing'
import { offerReplicaWait } from '../offer-replica-wait.ts'
import type { RedisTransport } from '../redis-transport.ts'
import { confirmedRun } from './confirmed-run.ts'
import type { ConnectedClient } from './connected-client.ts'
import { type Route, untilReady } from './delivery.ts'
import { run } from './round.ts'

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
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster: to.cluster,
    countsSubscribers: !to.cluster,
    overlaps: !to.cluster,
    nodeOf: (key) => to.nodeOf(key),
    whenReady: (key, deadline) => (to.obstacle(key) ? untilReady(route, key, deadline) : undefined),
    run: (calls, deadline) => run(route, calls, deadline),
  }
  return to.alone ? offerReplicaWait(transport, confirmedRun(route)) : transport
}
