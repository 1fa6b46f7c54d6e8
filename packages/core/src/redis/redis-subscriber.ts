/**
 * The subscriber port: a Redis connection of its own that only listens.
 *
 * It neither reconnects nor subscribes anew by itself: whoever uses it does, because it has
 * to tell its waiters.
 */
export interface RedisSubscriber {
  /**
   * Opens a connection. Rejects when that fails or `signal` is aborted, and then leaves none behind. What it rejects with
   * is told to the user, so it should say why the server or the network refused, and has no credentials in it.
   */
  connect(listener: SubscriberListener, signal: AbortSignal): Promise<SubscriberConnection>
}

export interface SubscriberListener {
  message(channel: string, payload: string): void
  /**
   * The connection is gone, for whatever reason but `close`. Told once, and before what is under way rejects, so that a
   * loss is not taken for a refusal. `cause` is as what `connect` rejects with.
   */
  lost(cause?: unknown): void
}

export interface SubscriberConnection {
  /**
   * Resolves when the server has confirmed, each time also for what is subscribed already: that is how the connection is
   * probed. Rejects if the server refuses, with its error, or the connection is lost.
   */
  subscribe(channels: readonly string[]): Promise<void>
  unsubscribe(channels: readonly string[]): Promise<void>
  psubscribe(pattern: string): Promise<void>
  close(): void
}
