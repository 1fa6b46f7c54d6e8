import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * The transport port: run scripts on a Redis, several in one round trip.
 *
 * A transport knows nothing of leases. NOSCRIPT handling, key layout and the decoding of replies are above it.
 */
export interface RedisTransport {
  /** How long a command may stay unanswered, in milliseconds: 2,000 on TCP, 5,000 on HTTP. */
  readonly commandDeadlineMs: number
  /** Whether keys live on several nodes, so that one script may only touch keys of one slot. */
  readonly cluster: boolean
  /**
   * Whether the reply to a `PUBLISH` counts every subscriber. On a single server it does. A node of a cluster counts only its
   * own, and over HTTP nobody knows what is behind.
   */
  readonly countsSubscribers: boolean
  /** As `overlaps` of `LeaseStore`; default false. */
  readonly overlaps?: boolean | undefined
  /** Names the node that serves a key at present. Always the same name where there is only one. Does no I/O. */
  nodeOf(key: string): string
  /**
   * Undefined if a call for this key would be written at once; over HTTP always, because there is no connection to wait for. If
   * not, a promise: it resolves with undefined once a call would be written at once, and with the reply to a call that was not
   * sent if none ever will, or if the deadline is over first.
   */
  whenReady(key: string, call: CallDeadline): Promise<ScriptReply | undefined> | undefined
  /**
   * Sends the calls in order, in one round trip if the client can, and answers one reply per call, in order. It never retries
   * and never rejects. It need not enforce the deadline: the caller stops waiting by itself. What was not sent when the
   * deadline is over must not be sent later.
   */
  run(calls: readonly ScriptCall[], call: CallDeadline): Promise<readonly ScriptReply[]>
}

export interface ScriptCall {
  /** `EVALSHA` with the script's sha1 as body, or `EVAL` with its text. */
  readonly command: 'EVALSHA' | 'EVAL'
  readonly body: string
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

export type ScriptReply =
  /**
   * The server's answer, as the client decoded it. `resent`: the client may have sent the call twice, because another
   * connection answered than the one in use when the call was made.
   */
  | { readonly type: 'value'; readonly value: unknown; readonly resent: boolean }
  /** The server's own error text, such as `NOSCRIPT No matching script`. `resent` as for a value, where known. */
  | { readonly type: 'error'; readonly message: string; readonly resent?: boolean | undefined }
  /**
   * No answer. `executed` is `'no'` only if the server certainly did not carry the call out. `retryAfterMs`: how long from now
   * the server asks clients to stay away, in milliseconds; absent or 0 if it does not say.
   */
  | {
      readonly type: 'unknown'
      readonly executed: 'no' | 'unknown'
      readonly cause?: unknown
      readonly retryAfterMs?: number | undefined
    }
