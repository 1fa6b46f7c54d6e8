import { offerFindings } from '@leasehold/core/adapter'
import {
  type ConnectedClient,
  connectedTransport,
  offerPlainCommands,
  plainCommandOver,
  type RedisTransport,
} from '@leasehold/core/redis'
import { clientFindings } from './client-findings.ts'
import { nodeNameOf } from './cluster-node.ts'
import { areSame, connectionFor, inOneWrite, obstacle, sockets } from './connections.ts'
import { checkClient, type IoredisClient, type IoredisConnection } from './ioredis-client.ts'
import { failure, plainValue } from './script-reply.ts'
import { slotsOnTheMove } from './slots-on-the-move.ts'

/**
 * Runs scripts over an ioredis-compatible client: standalone, Sentinel or Cluster. It is for stores that you write;
 * `ioredisStore` is built on it.
 *
 * A call waits here until its connection is ready, not in the client's offline queue. So nothing is sent after its
 * deadline. After a lost connection the client may resend a call (its options `autoResendUnfulfilledCommands` and
 * `maxRetriesPerRequest`; on a cluster `maxRedirections`); `resent` says that it may have. When a thousand calls were
 * given up on a connection and it stays silent for another 2 s, it gets one call each half second until it answers or
 * is replaced. If the server refuses to let the client in, the call ends at once with the server's words.
 *
 * It changes no option of the client, and leaves no listener on it. If a call makes the client connect, that connection belongs
 * to the async context in which `ioredisTransport` was called.
 *
 * @example
 * ```ts
 * const store = redisStore(ioredisTransport(redis))
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 */
export function ioredisTransport(client: IoredisClient): RedisTransport {
  checkClient(client)
  const connected = connectedIoredis(client)
  const transport = connectedTransport(connected)
  offerFindings(transport, () => clientFindings(client))
  return offerPlainCommands(transport, plainCommandOver(connected, plainSending(client), failure))
}

function connectedIoredis(client: IoredisClient): ConnectedClient<IoredisClient> {
  const cluster = client.isCluster === true
  const { options } = client
  // Where numbers come as strings, only buffers tell text from them. They take longer to read.
  const strings = options.stringNumbers || options.redisOptions?.stringNumbers ? 'buffer' : 'string'
  const commands = {
    EVALSHA: client.createBuiltinCommand('evalsha')[strings],
    EVAL: client.createBuiltinCommand('eval')[strings],
  }
  const read = strings === 'buffer' ? plainValue : (value: unknown): unknown => value
  const moving = slotsOnTheMove()
  return {
    client,
    cluster,
    nodeOf: (key) => (cluster && nodeNameOf(client, key)) || '',
    connectionFor: (key) => connectionFor(client, key),
    obstacle: (key) => obstacle(client, key),
    hasEnded: ({ status }) => status === 'end',
    describe: ({ status }) => `its status: ${status}`,
    listen,
    begin,
    lineOf: ({ stream }) => stream,
    send(call, _, answer) {
      const { command, body, keys, args } = call
      const before = sockets(client)
      // The client joins lists.
      commands[command].call(client, body, keys.length, keys, args).then(
        (value) => answer({ type: 'value', value: read(value), resent: !areSame(before, client) }),
        (error: unknown) => {
          const reply = failure(error, call, !areSame(before, client))
          moving.note(call, reply)
          answer(reply)
        },
      )
      return undefined
    },
    inOneWrite: (send) => inOneWrite(client, send),
    said: (call) => moving.last(call),
    alone(connection) {
      const wait = connection.createBuiltinCommand('wait').buffer
      return {
        to: connectedIoredis(connection),
        wait: async (...words) => Number(await wait.apply(connection, words)),
      }
    },
  }
}

/** Sends a command over whichever connection the client chooses. */
const plainSending =
  (client: IoredisClient) =>
  async ([name, ...words]: readonly [string, ...string[]]): Promise<unknown> =>
    plainValue(await client.createBuiltinCommand(name.toLowerCase()).buffer.apply(client, words))

function begin(connection: IoredisConnection): void {
  // Somebody else may have connected it first. A failed attempt shows in the status; the client's settings decide
  // whether it tries again.
  if (connection.status === 'wait') connection.connect().catch(() => undefined)
}

function listen(connection: IoredisConnection, changed: () => void, failed: (error: unknown) => void): () => void {
  const onError = (error: Error): void => {
    // A client without a listener for errors prints them. If ours is the only one, we print them instead.
    // biome-ignore lint/suspicious/noConsole: in place of the client, in its words
    if (connection.listenerCount('error') === 1) console.error('[ioredis] Unhandled error event:', error.stack)
    failed(error)
  }
  connection.on('ready', changed)
  connection.on('end', changed)
  connection.on('error', onError)
  return () => {
    connection.off('ready', changed)
    connection.off('end', changed)
    connection.off('error', onError)
  }
}
