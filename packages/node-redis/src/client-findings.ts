import type { Finding } from '@leasehold/core/adapter'
import { isCluster, isSentinel, type NodeRedisClient } from './node-redis-client.ts'

/** The client options that decide what happens to locks after a failure. */
interface RiskyOptions {
  readonly socket?: { readonly reconnectStrategy?: unknown; readonly socketTimeout?: unknown } | undefined
  readonly pingInterval?: unknown
  readonly commandsQueueMaxLength?: unknown
}

/** What we look at of a connection: a plain client, or one that a Cluster or Sentinel client has made. */
interface Connection {
  readonly options?: RiskyOptions | undefined
}

/**
 * What the options of a client's connections mean for locks. Other options make no difference here: nothing is put into
 * the client's offline queue, and the commands of locks have none of its command options.
 *
 * A Cluster or Sentinel client shows the options of its connections on the connections alone, so nothing is known while
 * it has none. It makes another connection when one has ended, whatever its `reconnectStrategy`.
 */
export function clientFindings(client: NodeRedisClient): readonly Finding[] | Promise<readonly Finding[]> {
  if (isSentinel(client)) {
    // Without a connection it would wait for one, without limit.
    return client.isReady ? client._execute(false, async (primary) => primary).then(optionFindings, () => []) : []
  }
  if (isCluster(client)) {
    // In node-redis 4 a node's client is a promise at first.
    const connection = client.masters.map((node) => node.client ?? {}).find((each) => 'isReady' in each)
    return connection ? optionFindings(connection) : []
  }
  const { socket } = (client as Connection).options ?? {}
  return [...(socket?.reconnectStrategy === false ? [neverReconnects] : []), ...optionFindings(client)]
}

function optionFindings(connection: unknown): readonly Finding[] {
  const { socket, pingInterval, commandsQueueMaxLength } = (connection as Connection).options ?? {}
  const found: Finding[] = []
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
  remedy:
    "Leave out the client's `commandsQueueMaxLength` (of a Cluster client, in its `defaults`; of a Sentinel client, in its `nodeClientOptions`), or give locks a client of their own.",
}
const noSocketTimeout: Finding = {
  code: 'CLIENT_NO_SOCKET_TIMEOUT',
  severity: 'info',
  message: 'The client takes a connection that died without a word for alive, on Linux for a quarter of an hour',
  remedy:
    "In node-redis 5 and 6, set the client's `socket.socketTimeout` to several seconds, and its `pingInterval` to less (of a Cluster client, in its `defaults`; of a Sentinel client, in its `nodeClientOptions`).",
}
