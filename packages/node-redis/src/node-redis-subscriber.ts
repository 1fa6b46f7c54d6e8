import type { RedisSubscriber, SubscriberListener } from '@leasehold/core/redis'
import { Listening, type ListeningConnection } from './listening-connection.ts'
import {
  checkClient,
  isCluster,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisConnection,
} from './node-redis-client.ts'
import { unlessAborted } from './unless-aborted.ts'

/**
 * Makes connections that only listen, each like the client's. On a cluster each goes to the next primary in turn: any
 * will do, because a plain `PUBLISH` reaches subscribers on every node. It is for notifiers that you write, and for a
 * bridge in your own server. `nodeRedisNotifier` is built on it.
 *
 * @example
 * ```ts
 * const bridge = createBridge({ store, subscriber: nodeRedisSubscriber(redis), auth: { tokens } })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, for a pool, for a client in legacy mode or with a
 *   `keyPrefix`
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
  // A cluster or Sentinel client waits without limit for a server that is down.
  const listening = new Listening(await unlessAborted(duplicate(client, turn), signal), listener)
  await listening.open(signal)
  return listening
}

/** One attempt: the user makes a new connection and subscribes again, so that it knows when messages were missed. */
async function duplicate(client: NodeRedisClient, turn: number): Promise<ListeningConnection> {
  const source = await sourceOf(client, turn)
  const make = source.duplicate as (override: object) => ListeningConnection
  const socket = { ...source.options?.socket, reconnectStrategy: false }
  return make.call(source, { ...only, socket })
}

/** The connection to duplicate: in a cluster each primary's in turn, with Sentinel the present primary's. */
async function sourceOf(client: NodeRedisClient, turn: number): Promise<NodeRedisConnection> {
  if (isSentinel(client)) {
    return (await client._execute(false, async (primary) => primary)) as NodeRedisConnection
  }
  if (!isCluster(client)) return client
  const node = client.masters[turn % client.masters.length]
  if (!node) throw new Error('The cluster client knows no node yet')
  return (await client.nodeClient(node as never)) as NodeRedisConnection
}

/** Turns off what a listening connection has no use for. */
const only = { clientSideCache: undefined, maintNotifications: 'disabled', pingInterval: undefined }
