import type { ScriptCall } from '@leasehold/core/redis'
import { nodeOf } from './cluster-node.ts'
import type { IoredisClient, IoredisConnection, IoredisStream } from './ioredis-client.ts'
import { isReady } from './readiness.ts'

/** The connection that a call is sent on; undefined if a cluster client has none for its slot and will ask around. */
export const connectionFor = (client: IoredisClient, call: ScriptCall): IoredisConnection | undefined =>
  client.isCluster ? nodeOf(client, call.keys[0]) : client

/** The connection that is not ready and has to be before the call can be sent. */
export function obstacle(client: IoredisClient, call: ScriptCall): IoredisConnection | undefined {
  if (!isReady(client)) return client
  const node = connectionFor(client, call)
  // A connection that has ended is about to be replaced. The client finds the new one by itself.
  return node && !isReady(node) && node.status !== 'end' ? node : undefined
}

/**
 * The sockets in use now. If they are the same before and after a call, the client sent it once. If one is new or gone, the
 * client may have sent the call on the old and on the new one.
 */
export function streams(client: IoredisClient): readonly IoredisStream[] {
  const connections = client.nodes?.() ?? [client]
  return connections.flatMap(({ stream }) => (stream ? [stream] : []))
}

export const areSame = (before: readonly IoredisStream[], after: readonly IoredisStream[]): boolean =>
  before.length === after.length && before.every((stream, index) => stream === after[index])

/**
 * Everything that `send` hands over leaves in one write for each connection. The client's own pipeline works for one node of a
 * cluster only, and cannot redirect single calls.
 */
export function inOneWrite(client: IoredisClient, send: () => void): void {
  const corked = streams(client)
  for (const stream of corked) stream.cork()
  send()
  for (const stream of corked) stream.uncork()
}
