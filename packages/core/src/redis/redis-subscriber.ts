/**
 * The subscriber port: a Redis connection of its own that only listens.
 *
 * It neither reconnects nor subscribes again by itself. Its user does (`SubscriberLink` of `@leasehold/core/adapter`),
 * because its user has to tell the waiters.
 */
export interface RedisSubscriber {
  /**
   * Opens a connection. Rejects when that fails or `signal` is aborted, and then leaves no connection behind. The user of the
   * lock sees the error, so it must say why the server or the network refused, and must not contain credentials.
   */
  connect(listener: SubscriberListener, signal: AbortSignal): Promise<SubscriberConnection>
}

export interface SubscriberListener {
  message(channel: string, payload: string): void
  /**
   * The connection is gone, for any reason but `close`. Called once, and before pending commands reject, so that a loss is not
   * taken for a refusal. `cause` follows the same rules as the error of `connect`.
   */
  lost(cause?: unknown): void
}

export interface SubscriberConnection {
  /**
   * Resolves when the server has confirmed the subscription. It must ask the server every time, even for channels that are
   * subscribed already: that is how the connection is probed. Rejects with the server's error if it refuses, and when the
   * connection is lost.
   */
  subscribe(channels: readonly string[]): Promise<void>
  unsubscribe(channels: readonly string[]): Promise<void>
  psubscribe(pattern: string): Promise<void>
  close(): void
}
