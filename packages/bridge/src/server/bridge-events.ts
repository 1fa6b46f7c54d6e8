/** Why the bridge checked a key. Checks that are due together share one script call. */
export type CheckReason =
  /** Somebody waits for a key whose current holder the bridge does not know. */
  | 'first-waiter'
  /** The holder's lease, as last seen, has expired. */
  | 'expiry'
  /** The waiter that was woken may not have taken the lock, and others wait. */
  | 'passed-on'
  /** There was no connection for a while, so releases may have been missed. */
  | 'reconnected'
  /** Somebody asked `/readyz`. */
  | 'readiness'

/** What happens in a bridge, for logs and metrics. Events contain no tokens. */
export type BridgeEvent =
  /**
   * A check of one key. `unanswered`: the store did not answer, or refused. `bad-key`: no lock can have this name, and the
   * store was not asked. A check that nobody needs anymore is not an event.
   */
  | { readonly type: 'check'; readonly reason: CheckReason; readonly outcome: 'answered' | 'unanswered' | 'bad-key' }
  /**
   * The store was asked about this many keys in one call. `problem` says why it did not answer for all of them. It
   * contains no keys and no secrets, but may name the server's address.
   */
  | { readonly type: 'store-asked'; readonly keys: number; readonly problem?: Error }
  /**
   * The store was asked about this many waiters in the queues of this many keys, in one call, which keeps their places.
   * `problem` is as for `store-asked`.
   */
  | { readonly type: 'places-asked'; readonly keys: number; readonly waiters: number; readonly problem?: Error }
  /** Redis has confirmed the subscription: the first time, or again after `disconnected`. */
  | { readonly type: 'listening' }
  /**
   * Releases are not heard: the subscriber connection was lost or does not answer, or Redis refuses the subscription.
   * There is one event for each failed attempt. The bridge retries on its own. `problem` is as for `store-asked`.
   */
  | { readonly type: 'disconnected'; readonly problem: Error }
  /** A release was announced, whether or not anybody waits for its key. */
  | { readonly type: 'release-seen' }
  /** The turn of a waiter in a queue was announced, whether or not the bridge keeps its place. */
  | { readonly type: 'turn-seen' }
  /** A long poll was told to try again. */
  | { readonly type: 'wake-up' }
  /** A long poll was opened or closed; `open` is how many there are now. */
  | { readonly type: 'waits'; readonly open: number }
  /** An event stream was opened or closed; `open` is how many there are now. */
  | { readonly type: 'streams'; readonly open: number }
  /** A request was refused, with this status. */
  | { readonly type: 'refused'; readonly status: number }
  /** Something failed that should not have. The client sees a 500 without details. */
  | { readonly type: 'failed'; readonly error: unknown }

export type OnBridgeEvent = (event: BridgeEvent) => void
