import { homeContext } from '@leasehold/core/adapter'
import { offerReplicaWait, type RedisTransport } from '@leasehold/core/redis'
import { nodeNameOf } from './cluster-node.ts'
import { confirmedRun } from './confirmed-run.ts'
import { obstacle } from './connections.ts'
import { type Route, untilReady } from './delivery.ts'
import { checkClient, type IoredisClient } from './ioredis-client.ts'
import { run } from './round.ts'
import { slotsOnTheMove } from './slots-on-the-move.ts'

/**
 * Runs scripts over an ioredis-compatible client: standalone, Sentinel or Cluster. It is for stores that you write;
 * `ioredisStore` is built on it.
 *
 * A call waits here until its connection is ready, not in the client's offline queue. So nothing is sent once its deadline is
 * over. After a lost connection the client may send a call again (its options `autoResendUnfulfilledCommands` and
 * `maxRetriesPerRequest`; on a cluster `maxRedirections`); `resent` says that it may have. When a thousand calls were given up
 * on a connection and it stays silent for another 2 s, it gets one call each half second until it answers or is replaced. If the
 * server refuses to let the client in, the call ends at once with the server's words.
 *
 * It changes no option of the client, and leaves no listener on it. If a call makes the client connect, that connection belongs
 * to the async context in which `ioredisTransport` was called.
 *
 * @example
 * ```ts
 * const store = redisStore(ioredisTransport(redis))
 * ```
 *
 * @throws InvalidOptionError for anything but such a client, or for a client with a `keyPrefix`
 */
export function ioredisTransport(client: IoredisClient): RedisTransport {
  checkClient(client)
  const cluster = client.isCluster === true
  const commands = {
    EVALSHA: client.createBuiltinCommand('evalsha').buffer,
    EVAL: client.createBuiltinCommand('eval').buffer,
  }
  const waitCommand = client.createBuiltinCommand('wait').buffer
  const route: Route = { client, commands, waitCommand, moving: slotsOnTheMove(), home: homeContext() }
  const transport: RedisTransport = {
    commandDeadlineMs: 2_000,
    cluster,
    countsSubscribers: !cluster,
    overlaps: !cluster,
    nodeOf: (key) => (cluster && nodeNameOf(client, key)) || '',
    whenReady: (key, deadline) => (obstacle(client, key) ? untilReady(route, key, deadline) : undefined),
    run: (calls, deadline) => run(route, calls, deadline),
  }
  return offerReplicaWait(transport, confirmedRun(route))
}
