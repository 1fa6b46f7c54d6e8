import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * The transport port: run scripts on a Redis, several in one round trip.
 *
 * A transport knows nothing of leases; NOSCRIPT handling, key layout and the decoding of
 * replies are above it.
 */
export interface RedisTransport {
  /** How long a command may stay unanswered, in milliseconds: 2,000 on TCP, 5,000 on HTTP. */
  readonly commandDeadlineMs: number
  /** Whether keys live on several nodes, so that one script may only touch keys of one slot. */
  readonly cluster: boolean
  /**
   * Whether the answer to a `PUBLISH` counts every subscriber there is. It does on a single server; a node of a cluster
   * counts its own only, and over HTTP nobody knows what is behind.
   */
  readonly countsSubscribers: boolean
  /** Names the node that a key's commands go to at present; always the same name where there is but one. Does no I/O. */
  nodeOf(key: string): string
  /**
   * Sends the calls in order, in one round trip where the client can, and answers one reply per call, in order. Does not
   * retry and does not reject. It need not keep the deadline: when that is over the answers are no longer awaited, and what
   * was not sent by then should not be sent later.
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
   * The server's answer, as the client decoded it. `resent`: the connection that answered is not the one that was in use
   * when the call was made, so the client may have sent it twice.
   */
  | { readonly type: 'value'; readonly value: unknown; readonly resent: boolean }
  /** The server's own error text, such as `NOSCRIPT No matching script`; `resent` as for a value, where known. */
  | { readonly type: 'error'; readonly message: string; readonly resent?: boolean }
  /**
   * No answer. `executed: 'no'` only when the call was certainly not carried out. `retryAfterMs`: for so long, from now, the
   * server wants to be asked nothing; nothing or less where it does not say so.
   */
  | {
      readonly type: 'unknown'
      readonly executed: 'no' | 'unknown'
      readonly cause?: unknown
      readonly retryAfterMs?: number | undefined
    }
