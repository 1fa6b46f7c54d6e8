import type { RedisSubscriber, SubscriberConnection } from '@leasehold/core/redis'
import { checkClient, type IoredisClient } from './ioredis-client.ts'

/** A client that can make another connection like itself. */
export interface IoredisSubscribable extends IoredisClient {
  duplicate(...override: never[]): unknown
}

/** What we use of the connection it makes. */
interface ListeningConnection {
  connect(): Promise<unknown>
  disconnect(): void
  subscribe(...channels: readonly string[]): Promise<unknown>
  unsubscribe(...channels: readonly string[]): Promise<unknown>
  psubscribe(pattern: string): Promise<unknown>
  on(event: string, listener: (...args: readonly string[]) => void): unknown
}

/** A connection of one attempt: whoever uses it connects anew and subscribes anew, and knows that it did. */
const oneAttempt = {
  lazyConnect: true,
  retryStrategy: () => null,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
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
      const close = (): void => {
        open = false
        connection.disconnect()
      }
      connection.on('error', () => undefined)
      connection.on('message', (channel = '', payload = '') => listener.message(channel, payload))
      connection.on('pmessage', (_pattern, channel = '', payload = '') => listener.message(channel, payload))
      signal.addEventListener('abort', close, { once: true })
      try {
        await connection.connect()
        signal.throwIfAborted()
      } catch (error: unknown) {
        close()
        throw error
      } finally {
        signal.removeEventListener('abort', close)
      }
      connection.on('end', () => {
        if (open) listener.lost()
        open = false
      })
      return listening(connection, close)
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

const listening = (connection: ListeningConnection, close: () => void): SubscriberConnection => ({
  async subscribe(channels) {
    await connection.subscribe(...channels)
  },
  async unsubscribe(channels) {
    await connection.unsubscribe(...channels)
  },
  async psubscribe(pattern) {
    await connection.psubscribe(pattern)
  },
  close,
})
