import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * The transport port: runs scripts on a Redis server, several in one round trip.
 *
 * A transport knows nothing about leases. NOSCRIPT handling, key layout and reply decoding are in the layer above.
 */
export interface RedisTransport {
  /** How long a command may stay unanswered, in milliseconds: 2,000 on TCP, 5,000 on HTTP. */
  readonly commandDeadlineMs: number
  /** Whether keys live on several nodes, so that a script may touch keys of only one slot. */
  readonly cluster: boolean
  /**
   * Whether the reply to a `PUBLISH` counts every subscriber. On a single server it does. A cluster node counts only
   * its own, and over HTTP nobody knows what is behind the endpoint.
   */
  readonly countsSubscribers: boolean
  /** Same as `inNextWrite` of `LeaseStore`; default none. */
  readonly inNextWrite?: ((send: () => void) => void) | undefined
  /** Names the node that serves a key at present. Always the same name if there is only one node. Does no I/O. */
  nodeOf(key: string): string
  /**
   * Returns undefined if a call for this key would be written at once. Over HTTP that is always so, because there is no
   * connection to wait for. Otherwise returns a promise, which resolves with undefined once a call would be written at
   * once, or with the reply to a call that was not sent if that never happens or the deadline is over first.
   */
  whenReady(key: string, call: CallDeadline): Promise<ScriptReply | undefined> | undefined
  /**
   * Sends the calls in order, in one round trip if the client can, and resolves with one reply per call, in order.
   * Never retries and never rejects. It need not enforce the deadline: the caller stops waiting by itself. A call that
   * was not sent by the deadline must not be sent later.
   */
  run(calls: readonly ScriptCall[], call: CallDeadline): Promise<readonly ScriptReply[]>
}

export interface ScriptCall {
  /** `EVALSHA` with the script's SHA-1 as body, or `EVAL` with its text. */
  readonly command: 'EVALSHA' | 'EVAL'
  readonly body: string
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

export type ScriptReply =
  /**
   * The server's answer, as the client decoded it. `resent`: the client may have sent the call twice, because the
   * connection that answered is not the one in use when the call was made.
   */
  | { readonly type: 'value'; readonly value: unknown; readonly resent: boolean }
  /** The server's own error text, such as `NOSCRIPT No matching script`. `resent` as for a value, where known. */
  | { readonly type: 'error'; readonly message: string; readonly resent?: boolean | undefined }
  /**
   * No answer. `executed` is `'no'` only if the server certainly did not carry the call out. `retryAfterMs`: how long,
   * counted from now, the server asks clients to stay away, in milliseconds; absent or 0 if it does not say.
   */
  | {
      readonly type: 'unknown'
      readonly executed: 'no' | 'unknown'
      readonly cause?: unknown
      readonly retryAfterMs?: number | undefined
    }
