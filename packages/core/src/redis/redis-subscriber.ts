/**
 * The subscriber port: a dedicated Redis connection that only listens.
 *
 * It neither reconnects nor resubscribes by itself. Its user does (`SubscriberLink` of `@leasehold/core/adapter`),
 * because the user has to notify the waiters.
 */
export interface RedisSubscriber {
  /**
   * Opens a connection. Rejects if that fails or `signal` is aborted, and then leaves no connection behind. The user of
   * the lock sees the error, so it must say why the server or the network refused, and must not contain credentials.
   */
  connect(listener: SubscriberListener, signal: AbortSignal): Promise<SubscriberConnection>
}

export interface SubscriberListener {
  message(channel: string, payload: string): void
  /**
   * The connection is gone, for any reason but `close`. Called once, before pending commands reject, so that a loss is
   * not mistaken for a refusal. `cause` follows the same rules as the error of `connect`.
   */
  lost(cause?: unknown): void
}

export interface SubscriberConnection {
  /**
   * Resolves when the server has confirmed the subscription. It must ask the server every time, even for channels
   * already subscribed: that is how the connection is probed. Rejects with the server's error if the server refuses,
   * and when the connection is lost.
   */
  subscribe(channels: readonly string[]): Promise<void>
  unsubscribe(channels: readonly string[]): Promise<void>
  psubscribe(pattern: string): Promise<void>
  close(): void
}
