import { homeContext } from '#sharing'
import { offerReplicaWait } from '../offer-replica-wait.ts'
import type { RedisTransport } from '../redis-transport.ts'
import { confirmedRun } from './confirmed-run.ts'
import type { ConnectedClient } from './connected-client.ts'
import { type Route, untilReady } from './delivery.ts'
import { run } from './round.ts'

const atOnce = (send: () => void): void => send()

/**
 * Makes a transport over a client that keeps connections, for authors of adapters.
 *
 * A call waits here until its connection is ready, not in the client's offline queue, so that nothing is sent after the
 * call's deadline. Once a thousand calls on a connection have been given up and it has stayed silent for another 2 s,
 * it gets one call every half second until it answers or is replaced. If the server refuses to let the client in, the
 * call ends at once with the server's words.
 *
 * A connection begun by a call belongs to the async context in which `connectedTransport` was called.
 */
export function connectedTransport<C extends object>(to: ConnectedClient<C>): RedisTransport {
  const route: Route<C> = { to, home: homeContext() }
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster: to.cluster,
    countsSubscribers: !to.cluster,
    inNextWrite: to.cluster ? undefined : (to.inNextWrite ?? atOnce),
    nodeOf: (key) => to.nodeOf(key),
    whenReady: (key, deadline) => (to.obstacle(key) ? untilReady(route, key, deadline) : undefined),
    run: (calls, deadline) => run(route, calls, deadline),
  }
  return to.alone ? offerReplicaWait(transport, confirmedRun(route)) : transport
}
