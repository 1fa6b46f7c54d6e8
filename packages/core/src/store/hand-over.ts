import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: whoever knows the token of a detached lease takes that lease over.
 *
 * Detaching needs nothing from the store but a renewal. Resuming replaces the token and mints a fence in one step, so
 * the lock is never free in between, and the old token is worthless once there is a new one.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition id without harm. A call rejects only with an `InvalidOptionError`, before anything is sent.
 */
export interface HandOverStore {
  resume(request: ResumeRequest, call: CallDeadline): Promise<ResumeOutcome>
}

export interface ResumeRequest {
  readonly key: string
  /** The token of the detached lease. The whole token is compared. */
  readonly token: string
  /** The fence of its last holder, which may be higher than the token's. The new fence is higher still. */
  readonly fence: number
  /** The part of the new token before its fence. All retries of one resume keep it. */
  readonly acquisitionId: string
  /** How long the store keeps the lease without renewal, in milliseconds from now. A lease with more time left keeps it. */
  readonly ttlMs: number
}

export type ResumeOutcome =
  /** The lock has the new token, by this request or by an earlier attempt of it. */
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /** Nobody has the lock, and as far as the store remembers nobody was granted it after the detached lease. */
  | { readonly type: 'gone' }
  /** Somebody else was granted the lock since: by a resume of the same lease, or by an acquire. */
  | { readonly type: 'superseded' }
  /** This resume was granted already, and that lease is over. Nothing is granted. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused
