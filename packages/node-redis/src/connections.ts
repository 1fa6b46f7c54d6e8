import { keySlot } from '@leasehold/core/redis'
import {
  isCluster,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisConnection,
  type NodeRedisNode,
} from './node-redis-client.ts'

/** The node of a key's slot, as far as the cluster client knows. */
export const nodeOf = (cluster: NodeRedisCluster, key: string): NodeRedisNode | undefined =>
  cluster.slots[keySlot(key)]?.master

/** The connection that a call for this key is sent on; undefined if a cluster client must make or find it. */
export function connectionFor(client: NodeRedisClient, key: string | undefined): NodeRedisClient | undefined {
  if (!isCluster(client)) return client
  const node = key === undefined ? undefined : nodeOf(client, key)
  if (!node?.client || !isConnection(node.client)) return undefined
  if (node.client.isOpen) return node.client
  // The client would go on sending on the closed connection, and fail each time. Once forgotten, it makes another.
  node.client = undefined
  return undefined
}

/** The connection that must become ready before a call for this key can be sent; undefined if there is none. */
export function obstacle(client: NodeRedisClient, key: string | undefined): NodeRedisClient | undefined {
  if (!isReady(client)) return client
  if (!isCluster(client) || key === undefined) return undefined
  const connection = nodeOf(client, key)?.client
  // The client connects a node that nobody needed yet, or whose connection has ended, when it gets a call for it.
  if (!connection) return undefined
  if (!isConnection(connection)) return client
  return connection.isOpen && !connection.isReady ? connection : undefined
}

/** Whether the client has what it needs to send: a connection, or the slots of the cluster. */
const isReady = (client: NodeRedisClient): boolean =>
  isCluster(client) ? client.isOpen && client.slots[0] !== undefined : client.isReady

/** In node-redis 4 a node's client is a promise at first. */
const isConnection = (client: object): client is NodeRedisConnection => 'isReady' in client

/** The present state of a connection, in words for an operator. */
export function describe(client: NodeRedisClient): string {
  if (isReady(client)) return 'it is ready'
  return client.isOpen ? 'it is connecting' : 'it is closed; call its connect()'
}
