/**
 * The subscriber port: a Redis connection of its own that only listens.
 *
 * It neither reconnects nor subscribes anew by itself: whoever uses it does, because it has
 * to tell its waiters.
 */
export interface RedisSubscriber {
  /**
   * Opens a connection. Rejects when that fails or `signal` is aborted, and then leaves none behind.
   */
  connect(listener: SubscriberListener, signal: AbortSignal): Promise<SubscriberConnection>
}

export interface SubscriberListener {
  message(channel: string, payload: string): void
  /** The connection is gone, for whatever reason but `close`. Told once. */
  lost(): void
}

export interface SubscriberConnection {
  /** Resolves when the server has confirmed; rejects if it refuses or the connection is lost. */
  subscribe(channels: readonly string[]): Promise<void>
  unsubscribe(channels: readonly string[]): Promise<void>
  psubscribe(pattern: string): Promise<void>
  close(): void
}
