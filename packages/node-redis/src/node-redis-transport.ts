import { offerFindings } from '@leasehold/core/adapter'
import {
  type ConnectedClient,
  connectedTransport,
  offerPlainCommands,
  offerReplicaWait,
  plainCommandOver,
  type RedisTransport,
} from '@leasehold/core/redis'
import { askOnceSilent, keepAskingAround } from './asking-around.ts'
import { clientFindings } from './client-findings.ts'
import { connectionFor, describe, nodeOf, obstacle } from './connections.ts'
import { listen } from './listening.ts'
import {
  checkClient,
  isCluster,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisConnection,
} from './node-redis-client.ts'
import { confirmedBySentinel, waitOn } from './replicas.ts'
import { failure } from './script-reply.ts'
import { plain, sendBySentinel, sendInCluster, sendOn } from './sending.ts'

/** Every runtime that has node-redis has it, because the client uses it itself. */
declare const setImmediate: (callback: () => void) => unknown

/**
 * Runs scripts over a client of node-redis: standalone, Sentinel or Cluster. It is for stores that you write; `nodeRedisStore` is
 * built on it.
 *
 * A call waits here until its connection is ready, not in the client's offline queue. So nothing is sent after its
 * deadline: a call that is still in a queue of the client then becomes a `PING`. On one connection a call is sent at
 * most once. A Sentinel client may resend it after a failover; `resent` says that it may have. When a thousand calls
 * were given up on a connection and it stays silent for another 2 s, it gets one call each half second until it answers
 * or is replaced. On a cluster another node is asked who has the key of a call that got no answer, so that the client
 * leaves a node that hangs. If the server refuses to let the client in, the call ends at once with the server's words.
 *
 * It changes no option of the client, and neither connects nor closes it. Its commands have none of the client's own options, such
 * as a timeout or a type mapping.
 *
 * @example
 * ```ts
 * const store = redisStore(nodeRedisTransport(redis))
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, for a pool, for a client in legacy mode or with a
 *   `keyPrefix`
 */
export function nodeRedisTransport(client: NodeRedisClient): RedisTransport {
  checkClient(client)
  const connected = connectedNodeRedis(client)
  const transport = connectedTransport(connected)
  if (isSentinel(client)) offerReplicaWait(transport, confirmedBySentinel(client, transportOf))
  offerFindings(transport, () => clientFindings(client))
  // On a cluster a plain command would need a key.
  if (isCluster(client)) return transport
  const send = (words: readonly string[]): Promise<unknown> =>
    isSentinel(client) ? client.sendCommand(false, [...words], plain) : client.sendCommand([...words], plain)
  return offerPlainCommands(transport, plainCommandOver(connected, send, failure))
}

/**
 * The transport of each connection that a Sentinel client lends. A connection that is lent again keeps its transport.
 */
const lent = new WeakMap<NodeRedisConnection, RedisTransport>()
function transportOf(connection: NodeRedisConnection): RedisTransport {
  const transport = lent.get(connection) ?? connectedTransport(connectedNodeRedis(connection))
  lent.set(connection, transport)
  return transport
}

/**
 * The line of each connection. All users of the connection share it, so that together they find out that it is silent.
 */
const lines = new WeakMap<NodeRedisClient, object>()

function lineOf(connection: NodeRedisClient): object {
  const line = lines.get(connection) ?? {}
  lines.set(connection, line)
  return line
}

/** @param within the cluster whose node `client` is a connection to; undefined for the user's own client */
function connectedNodeRedis(client: NodeRedisClient, within?: NodeRedisCluster): ConnectedClient<NodeRedisClient> {
  const cluster = isCluster(client)
  const asked = cluster ? client : within
  /** For each node's connection, a key that it was needed for. */
  const keys = new WeakMap<NodeRedisClient, string>()
  let wasReady = false
  return {
    client,
    cluster,
    nodeOf: (key) => (isCluster(client) && nodeOf(client, key)?.address) || '',
    connectionFor: (key) => connectionFor(client, key),
    obstacle(key) {
      const waitFor = obstacle(client, key)
      wasReady ||= waitFor !== client
      if (waitFor && waitFor !== client && key !== undefined) keys.set(waitFor, key)
      return waitFor
    },
    // A client that was never ready may be about to be connected.
    hasEnded: (connection) => wasReady && connection === client && !connection.isOpen,
    describe,
    listen(connection, changed, failed) {
      const stopListening = listen(connection, changed, failed)
      const key = keys.get(connection)
      const stopAsking = isCluster(client) && key !== undefined ? keepAskingAround(client, key) : undefined
      return () => {
        stopListening()
        stopAsking?.()
      }
    },
    lineOf,
    send(call, connection, answer) {
      const line = connection && lineOf(connection)
      const heard: typeof answer = (reply) => {
        // The client gives up a call only when it loses the connection. The next connection is another line.
        if (reply.type === 'unknown' && connection && lines.get(connection) === line) lines.delete(connection)
        answer(reply)
      }
      if (isSentinel(client)) return sendBySentinel(client, call, heard)
      const sent = isCluster(client)
        ? sendInCluster(client, connection as NodeRedisConnection | undefined, call, heard)
        : sendOn(client, call, heard)
      return asked ? askOnceSilent(asked, call, sent) : sent
    },
    // The client writes what it was given in an immediate, which was set before this one. A Sentinel client sets it after
    // this one, because it first awaits its connection.
    inNextWrite: (send) => void setImmediate(isSentinel(client) ? () => void setImmediate(send) : send),
    ...(!isSentinel(client) && {
      alone: (connection) => ({
        to: connectedNodeRedis(connection, asked),
        wait: (replicas, timeoutMs) => waitOn(connection as NodeRedisConnection, replicas, timeoutMs),
      }),
    }),
  }
}
