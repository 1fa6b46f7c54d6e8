import type { CallDeadline } from '../timing/call-deadline.ts'
import type { ScriptCall, ScriptReply } from './redis-transport.ts'

/** How many replicas must confirm a write, and how long to wait for them. */
export interface ReplicaWait {
  readonly replicas: number
  readonly timeoutMs: number
}

/** A reply, and how many replicas had confirmed what was written for it. */
export interface ConfirmedReply {
  readonly reply: ScriptReply
  /** 0 also if nobody knows, as when the connection was lost between the script and its `WAIT`. */
  readonly confirmed: number
  /** Why nobody knows, if a reason is known. */
  readonly cause?: unknown
}

/**
 * Runs calls as `run` of a transport does, and sends a `WAIT` after them on the same connection that carries them out.
 * On any other connection, or after a reconnect, a `WAIT` says nothing about them. On a cluster there is one `WAIT` per
 * node, and a redirected call counts only once it was carried out on the node that got its `WAIT`. Never rejects.
 */
export type ConfirmedRun = (
  calls: readonly ScriptCall[],
  wait: ReplicaWait,
  call: CallDeadline,
) => Promise<readonly ConfirmedReply[]>
