/** Why the bridge asked the store for the state of a key. Checks that are due together are one script call. */
export type CheckReason =
  /** Somebody waits for a key of which the bridge does not know the present holder. */
  | 'first-waiter'
  /** The remaining time of the holder, as last seen, has run out. */
  | 'expiry'
  /** The waiter that was woken may not have taken the lock, and others wait. */
  | 'passed-on'
  /** What was released while there was no connection was heard by nobody. */
  | 'reconnected'
  /** Somebody asked `/readyz`. */
  | 'readiness'

/** What happens in a bridge, for logs and metrics. No token is in any of it. */
export type BridgeEvent =
  /**
   * A check of one key. `unanswered`: also refused, or given up with a call that was not answered. `bad-key`: there can be no
   * lock of that name, and the store was not asked. A check that nobody wants any more is no event.
   */
  | { readonly type: 'check'; readonly reason: CheckReason; readonly outcome: 'answered' | 'unanswered' | 'bad-key' }
  /**
   * The store was asked about so many keys in one call. `problem` is why it did not answer all, without keys and secrets, but
   * it may name the address of the server.
   */
  | { readonly type: 'store-asked'; readonly keys: number; readonly problem?: Error }
  /** Redis has confirmed the subscription: the first time, or again after `disconnected`. */
  | { readonly type: 'listening' }
  /**
   * Releases are not heard: the connection that listens is lost, did not answer, or may not listen. Told each time that an
   * attempt fails. The bridge connects again by itself. `problem` is as for `store-asked`.
   */
  | { readonly type: 'disconnected'; readonly problem: Error }
  /** A notification came in, whether or not anybody waits for its key. */
  | { readonly type: 'release-seen' }
  /** A long poll was told to try again. */
  | { readonly type: 'wake-up' }
  /** A long poll came or went; `open` is how many there are now. */
  | { readonly type: 'waits'; readonly open: number }
  /** An event stream came or went; `open` is how many there are now. */
  | { readonly type: 'streams'; readonly open: number }
  /** A request was not served. */
  | { readonly type: 'refused'; readonly status: number }
  /** Something failed that should not have; the client sees a 500 without details. */
  | { readonly type: 'failed'; readonly error: unknown }

export type OnBridgeEvent = (event: BridgeEvent) => void
