/** Why the bridge asked the store for the state of a key. Each look is one script call. */
export type LookReason =
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
  | { readonly type: 'look'; readonly reason: LookReason; readonly answered: boolean }
  /** Redis has confirmed the subscription: the first time, or again after `deaf`. */
  | { readonly type: 'listening' }
  /** The connection that listens is lost, or did not answer. The bridge connects again by itself. */
  | { readonly type: 'deaf' }
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
