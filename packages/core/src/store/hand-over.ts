import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'

/**
 * A further port, which a store may offer: a lease that its holder has detached is taken over by whoever knows its token.
 *
 * To detach takes nothing of the store but a renewal. To resume replaces the token and mints a fence in one step, so a lock is at
 * no time free in between, and an old token is worth nothing once a new one is there.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition id without harm. A call rejects only with an `InvalidOptionError`, before anything is sent.
 */
export interface HandOverStore {
  resume(request: ResumeRequest, call: CallDeadline): Promise<ResumeOutcome>
}

export interface ResumeRequest {
  readonly key: string
  /** The token of the detached lease. It is compared whole. */
  readonly token: string
  /** The fence of its last holder, which may be higher than that of the token. The new fence is higher still. */
  readonly fence: number
  /** The part of the new token before its fence. All retries of one resume keep it. */
  readonly acquisitionId: string
  /** How long the store keeps the lease without renewal, in milliseconds from now. A lease with more time left keeps it. */
  readonly ttlMs: number
}

export type ResumeOutcome =
  /** It has the new token, by this request or by an earlier attempt of it. */
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /** Nobody has the lock, and as far as the store remembers nobody was granted it after the detached lease. */
  | { readonly type: 'gone' }
  /** Another was granted the lock since: by a resume of the same lease, or by an acquire. */
  | { readonly type: 'superseded' }
  /** This resume was granted already, and that lease is over. Nothing is granted. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused
