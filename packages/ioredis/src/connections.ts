import { nodeOf } from './cluster-node.ts'
import type { IoredisClient, IoredisConnection, IoredisStream } from './ioredis-client.ts'

/**
 * Whether the client writes a command to the socket at once. In any other state it would queue the command, and might send it
 * long after the caller has given up.
 */
const isReady = (connection: IoredisConnection): boolean =>
  connection.status === 'ready' && connection.stream?.writable !== false

/** The connection that a call for this key is sent on; undefined if a cluster client has none and will ask around. */
export const connectionFor = (client: IoredisClient, key: string | undefined): IoredisClient | undefined =>
  client.isCluster ? nodeOf(client, key) : client

/** The connection that must become ready before a call for this key can be sent; undefined if there is none. */
export function obstacle(client: IoredisClient, key: string | undefined): IoredisClient | undefined {
  if (!isReady(client)) return client
  const node = connectionFor(client, key)
  // A connection that has ended is about to be replaced. The client finds the new one by itself.
  return node && !isReady(node) && node.status !== 'end' ? node : undefined
}

/** The sockets in use: that of a plain client, or those of all nodes. */
export type Sockets = IoredisStream | undefined | readonly (IoredisStream | undefined)[]

export const sockets = (client: IoredisClient): Sockets =>
  client.nodes ? client.nodes().map(({ stream }) => stream) : client.stream

/**
 * Whether the same sockets are in use as before a call: then the client sent it once. If a socket is new or gone, the
 * client may have sent the call both on the old and on the new one.
 */
export function areSame(before: Sockets, client: IoredisClient): boolean {
  const now = sockets(client)
  if (!Array.isArray(before) || !Array.isArray(now)) return before === now
  return before.length === now.length && before.every((stream, at) => stream === now[at])
}

/**
 * Everything that `send` hands over leaves in one write for each connection. The client's own pipeline works for one node of a
 * cluster only, and cannot redirect single calls.
 */
export function inOneWrite(client: IoredisClient, send: () => void): void {
  const corked = [sockets(client)].flat().filter((stream) => stream !== undefined)
  for (const stream of corked) stream.cork()
  send()
  for (const stream of corked) stream.uncork()
}
