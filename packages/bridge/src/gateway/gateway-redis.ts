/**
 * The gateway's port: what it needs from Redis. The gateway is independent of client libraries; an adapter of about
 * forty lines each for commands and subscriptions implements the port.
 *
 * An adapter holds two connections, one for commands and one for subscriptions, and all requests share them. No command may
 * change a connection's state for the others, so the gateway lets no such command pass (`SELECT`, `MULTI`, `BLPOP`, …).
 */
export interface GatewayRedis {
  /**
   * Sends the commands in order, in one round trip, and resolves with one reply for each, in order. Commands of other requests
   * may come in between. An error returned by Redis is a reply.
   *
   * If the connection is not ready, it waits until it is, or until `signal` is aborted; nothing is sent after that. Once the commands
   * are sent, the gateway itself decides how long to wait. Nothing is ever sent twice.
   *
   * @throws UnansweredError if not every command was answered: none was sent, or the connection was lost after sending.
   */
  pipeline(commands: readonly GatewayCommand[], signal: AbortSignal): Promise<readonly GatewayReply[]>
  /**
   * The same as one transaction: `MULTI`, the commands, `EXEC`, with nothing in between. If Redis discards the
   * transaction (`EXECABORT`), resolves with that error, which says which command was refused.
   *
   * @throws UnansweredError as above.
   */
  multiExec(
    commands: readonly GatewayCommand[],
    signal: AbortSignal,
  ): Promise<readonly GatewayReply[] | RedisErrorReply>
  /**
   * Subscribes to a topic until the returned function is called. The gateway asks once per topic, however many requests
   * want it, so an adapter need not count references. It connects on the first call, keeps retrying while it cannot,
   * and resubscribes to every wanted topic after a lost connection. The subscriber hears nothing before this has
   * returned, and nothing after the returned function was called.
   */
  subscribe(topic: Topic, subscriber: TopicSubscriber): Unsubscribe
}

/** A command's name and its arguments. Text is sent as UTF-8. */
export type GatewayCommand = readonly [name: string, ...args: (string | Uint8Array)[]]

/**
 * A reply in the shapes of RESP2. A Redis string is bytes; text stands for its UTF-8. A `bigint` is for integers beyond
 * 2^53. Errors may occur inside an array.
 */
export type GatewayReply = null | number | bigint | string | Uint8Array | RedisErrorReply | readonly GatewayReply[]

/** What Redis refused, and why, in its own words: `NOSCRIPT No matching script`. */
export interface RedisErrorReply {
  readonly error: string
}

export interface Topic {
  /** Whether `name` is a pattern (`PSUBSCRIBE`) or the name of a channel (`SUBSCRIBE`). */
  readonly pattern: boolean
  readonly name: string
}

export interface TopicSubscriber {
  /** Redis has confirmed the subscription, for the first time or again after a lost connection. */
  confirmed(): void
  /** The connection is lost. Messages are missed until the next `confirmed`. */
  lost(): void
  /** Redis refuses the subscription; `error` is in its own words. This is the last call. */
  refused(error: string): void
  message(channel: string | Uint8Array, payload: string | Uint8Array): void
}

export type Unsubscribe = () => void

/** Redis gave no answer. `executed: 'no'` only when nothing was sent; otherwise the commands may have been carried out. */
export class UnansweredError extends Error {
  readonly executed: 'no' | 'unknown'

  constructor(executed: 'no' | 'unknown', options?: ErrorOptions) {
    super(executed === 'no' ? 'Redis is not connected' : 'Redis did not answer', options)
    this.name = 'UnansweredError'
    this.executed = executed
  }
}
