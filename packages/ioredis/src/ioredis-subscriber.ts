import type { RedisSubscriber, SubscriberConnection } from '@leasehold/core/redis'
import { plainError } from './connection-error.ts'
import { checkClient, type IoredisClient } from './ioredis-client.ts'

/** A client that can make another connection like itself. */
export interface IoredisSubscribable extends IoredisClient {
  duplicate(...override: never[]): unknown
}

/** What we use of the connection it makes. */
interface ListeningConnection {
  readonly status: string
  connect(): Promise<unknown>
  disconnect(): void
  subscribe(...channels: readonly string[]): Promise<unknown>
  unsubscribe(...channels: readonly string[]): Promise<unknown>
  psubscribe(pattern: string): Promise<unknown>
  on(event: 'message' | 'pmessage', listener: (...args: readonly string[]) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'end', listener: () => void): unknown
}

/** A connection of one attempt: whoever uses it connects anew and subscribes anew, and knows that it did. */
const oneAttempt = {
  lazyConnect: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  // It would be taken for the server's refusal. Whoever uses the connection has a deadline of its own.
  commandTimeout: undefined,
}

/**
 * Listens over a connection of its own, made like the client's. On a cluster it goes to one of the primaries, each time
 * another: a plain `PUBLISH` reaches subscribers on every node.
 *
 * @throws InvalidOptionError as `ioredisTransport` does
 */
export function ioredisSubscriber(client: IoredisSubscribable): RedisSubscriber {
  checkClient(client)
  let connections = 0
  return {
    async connect(listener, signal) {
      const connection = duplicate(client, connections++)
      let open = true
      /** Why it fails: the client itself only says that it has. */
      let lastError: unknown
      const close = (): void => {
        open = false
        connection.disconnect()
      }
      const lost = (): void => {
        if (open) listener.lost(lastError && plainError(lastError))
        open = false
      }
      connection.on('error', (error) => {
        lastError = error
      })
      connection.on('message', (channel = '', payload = '') => listener.message(channel, payload))
      connection.on('pmessage', (_pattern, channel = '', payload = '') => listener.message(channel, payload))
      signal.addEventListener('abort', close, { once: true })
      try {
        await connection.connect()
        signal.throwIfAborted()
      } catch (error: unknown) {
        close()
        throw signal.aborted ? error : plainError(lastError ?? error)
      } finally {
        signal.removeEventListener('abort', close)
      }
      connection.on('end', lost)
      return listening(connection, close, lost)
    },
  }
}

function duplicate(client: IoredisSubscribable, turn: number): ListeningConnection {
  const primaries = (client.isCluster && client.nodes?.('master')) || [client]
  const source = primaries[turn % primaries.length] as IoredisSubscribable | undefined
  if (!source) throw new Error('The cluster client knows no node yet')
  const make = source.duplicate as (override: object) => ListeningConnection
  return make.call(source, oneAttempt)
}

function listening(connection: ListeningConnection, close: () => void, lost: () => void): SubscriberConnection {
  /** The client may reject what is under way before it says that the connection has ended. */
  const answer = async (command: Promise<unknown>): Promise<void> => {
    try {
      await command
    } catch (error: unknown) {
      if (connection.status !== 'ready') lost()
      throw plainError(error)
    }
  }
  return {
    subscribe: (channels) => answer(connection.subscribe(...channels)),
    unsubscribe: (channels) => answer(connection.unsubscribe(...channels)),
    psubscribe: (pattern) => answer(connection.psubscribe(pattern)),
    close,
  }
}
