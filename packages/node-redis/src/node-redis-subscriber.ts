import type { RedisSubscriber, SubscriberListener } from '@leasehold/core/redis'
import { Listening, type ListeningConnection } from './listening-connection.ts'
import {
  checkClient,
  isCluster,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisConnection,
} from './node-redis-client.ts'

/**
 * Makes connections that only listen, each like the client's. On a cluster each goes to another primary, because a plain
 * `PUBLISH` reaches subscribers on every node. It is for notifiers that you write, and for a bridge in your own server.
 * `nodeRedisNotifier` is built on it.
 *
 * @example
 * ```ts
 * const bridge = createBridge({ store, subscriber: nodeRedisSubscriber(redis), auth: { tokens } })
 * ```
 *
 * @throws InvalidOptionError for anything but such a client, for a pool, for a client in legacy mode or with a `keyPrefix`
 */
export function nodeRedisSubscriber(client: NodeRedisClient): RedisSubscriber {
  checkClient(client)
  let connections = 0
  return {
    connect: (listener, signal) => open(client, connections++, listener, signal),
  }
}

async function open(
  client: NodeRedisClient,
  turn: number,
  listener: SubscriberListener,
  signal: AbortSignal,
): Promise<Listening> {
  const listening = new Listening(await duplicate(client, turn), listener)
  await listening.open(signal)
  return listening
}

/** A connection of one attempt. Its user makes a new one and subscribes again, so that it knows when messages were missed. */
async function duplicate(client: NodeRedisClient, turn: number): Promise<ListeningConnection> {
  const source = isCluster(client) ? await nodeInTurn(client, turn) : client
  const make = source.duplicate as (override: object) => ListeningConnection
  if (isSentinel(source)) return make.call(source, { reserveClient: false })
  const socket = { ...source.options?.socket, reconnectStrategy: false }
  return make.call(source, { ...only, socket })
}

async function nodeInTurn(cluster: NodeRedisCluster, turn: number): Promise<NodeRedisConnection> {
  const node = cluster.masters[turn % cluster.masters.length]
  if (!node) throw new Error('The cluster client knows no node yet')
  return (await cluster.nodeClient(node as never)) as NodeRedisConnection
}

/** What a connection that listens has no use for. */
const only = { clientSideCache: undefined, maintNotifications: 'disabled', pingInterval: undefined }
