import {
  plainError,
  type RedisSubscriber,
  type SubscriberConnection,
  type SubscriberListener,
} from '@leasehold/core/redis'
import { checkClient, type IoredisClient } from './ioredis-client.ts'

/** A client that can make another connection like itself. */
export interface IoredisSubscribable extends IoredisClient {
  duplicate(...override: never[]): unknown
}

/** The parts of the duplicated connection that we use. */
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

/** One attempt: the user makes a new connection and subscribes again, so that it knows when messages were missed. */
const oneAttempt = {
  lazyConnect: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  // A timeout would look like a refusal by the server. The user of the connection has a deadline of its own.
  commandTimeout: undefined,
}

/**
 * Makes connections that only listen, each like the client's. On a cluster each goes to the next primary in turn: any
 * will do, because a plain `PUBLISH` reaches subscribers on every node. It is for notifiers that you write, and for a
 * bridge in your own server. `ioredisNotifier` is built on it.
 *
 * @example
 * ```ts
 * const bridge = createBridge({ store, subscriber: ioredisSubscriber(redis), auth: { tokens } })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 */
export function ioredisSubscriber(client: IoredisSubscribable): RedisSubscriber {
  checkClient(client)
  let connections = 0
  return {
    async connect(listener, signal) {
      const listening = new Listening(duplicate(client, connections++), listener)
      await listening.open(signal)
      return listening
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

/** States: *connecting* → *open* → *lost*, reported once to the listener, or *closed* by the user, not reported. */
class Listening implements SubscriberConnection {
  readonly #connection: ListeningConnection
  readonly #listener: SubscriberListener
  #isEnded = false
  /** Why the connection failed. The client's `end` event does not say. */
  #lastError: unknown

  constructor(connection: ListeningConnection, listener: SubscriberListener) {
    this.#connection = connection
    this.#listener = listener
    connection.on('error', (error) => {
      this.#lastError = error
    })
    connection.on('message', (channel = '', payload = '') => listener.message(channel, payload))
    connection.on('pmessage', (_pattern, channel = '', payload = '') => listener.message(channel, payload))
  }

  async open(signal: AbortSignal): Promise<void> {
    const close = (): void => this.close()
    signal.addEventListener('abort', close, { once: true })
    try {
      await this.#connection.connect()
      signal.throwIfAborted()
    } catch (error: unknown) {
      this.close()
      throw signal.aborted ? error : plainError(this.#lastError ?? error)
    } finally {
      signal.removeEventListener('abort', close)
    }
    this.#connection.on('end', () => this.#lose())
  }

  subscribe(channels: readonly string[]): Promise<void> {
    return this.#answer(this.#connection.subscribe(...channels))
  }

  unsubscribe(channels: readonly string[]): Promise<void> {
    return this.#answer(this.#connection.unsubscribe(...channels))
  }

  psubscribe(pattern: string): Promise<void> {
    return this.#answer(this.#connection.psubscribe(pattern))
  }

  close(): void {
    this.#isEnded = true
    // A client that has ended already would set a timer of 2 s, which keeps the process alive.
    if (this.#connection.status !== 'end') this.#connection.disconnect()
  }

  async #answer(command: Promise<unknown>): Promise<void> {
    try {
      await command
    } catch (error: unknown) {
      // The client may reject commands in flight before it reports that the connection has ended.
      if (this.#connection.status !== 'ready') this.#lose()
      throw plainError(error)
    }
  }

  #lose(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#listener.lost(this.#lastError && plainError(this.#lastError))
  }
}
