import type { Finding } from '@leasehold/core/adapter'
import { isCluster, isSentinel, type NodeRedisClient } from './node-redis-client.ts'

/** The client options that decide what happens to locks after a failure. */
interface RiskyOptions {
  readonly socket?: { readonly reconnectStrategy?: unknown; readonly socketTimeout?: unknown } | undefined
  readonly pingInterval?: unknown
  readonly commandsQueueMaxLength?: unknown
}

/**
 * What a client's options mean for locks. Only a plain client exposes its options. Other options make no difference
 * here: nothing is put into the client's offline queue, and the commands of locks have none of its command options.
 */
export function clientFindings(client: NodeRedisClient): readonly Finding[] {
  if (isCluster(client) || isSentinel(client)) return []
  const { socket, pingInterval, commandsQueueMaxLength } = (client.options ?? {}) as RiskyOptions
  const found: Finding[] = []
  if (socket?.reconnectStrategy === false) found.push(neverReconnects)
  if (typeof commandsQueueMaxLength === 'number') found.push(queueLimit)
  if (!socket?.socketTimeout || !pingInterval) found.push(noSocketTimeout)
  return found
}

const neverReconnects: Finding = {
  code: 'CLIENT_NEVER_RECONNECTS',
  severity: 'warning',
  message:
    'The client does not connect again once it has lost its connection: from then on no lock is granted or renewed',
  remedy: "Leave the client's `socket.reconnectStrategy` as it is by default.",
}
const queueLimit: Finding = {
  code: 'CLIENT_QUEUE_LIMIT',
  severity: 'info',
  message: 'The client refuses requests while its queue is full, also the renewal of a lock',
  remedy: "Leave out the client's `commandsQueueMaxLength`, or give locks a client of their own.",
}
const noSocketTimeout: Finding = {
  code: 'CLIENT_NO_SOCKET_TIMEOUT',
  severity: 'info',
  message: 'The client takes a connection that died without a word for alive, on Linux for a quarter of an hour',
  remedy:
    "In node-redis 5 and 6, set the client's `socket.socketTimeout` to several seconds, and its `pingInterval` to less.",
}
