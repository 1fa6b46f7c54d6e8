import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import type { AcquireOutcome, AcquireRequest, LeaseStore, ReleaseOutcome } from './lease-store.ts'

/**
 * An optional port of a store: a release and an acquire of the same process in one request.
 *
 * The store frees the lock and announces that, as with a release. Only if it knows for certain that nobody was notified
 * does it grant the lock to the acquisition in the same step, as with an acquire. It grants nothing new unless it
 * carries out the release itself. So a repeat returns the grant that was made, or none.
 *
 * Without an answer, core repeats the two requests separately: a release and an acquire, with the same token and
 * acquisition id.
 */
export type PassOn = (request: PassOnRequest, call: CallDeadline) => Promise<PassOnOutcome>

/** The token to release, and the acquisition to grant the lock to. */
export interface PassOnRequest extends AcquireRequest {
  readonly token: string
}

export interface PassOnOutcome {
  /** How the release ended. */
  readonly released: ReleaseOutcome
  /** Undefined if the acquisition was not granted, or that is not known because `released` is no answer. */
  readonly granted: Granted | undefined
}

export type Granted = Extract<AcquireOutcome, { readonly type: 'granted' }>

/** A release that also asks for a grant: one use of the port. */
export interface Passing {
  /** The acquire. */
  readonly request: AcquireRequest
  /** Whether the acquire has been granted or may have been. Then it is repeated or undone. */
  readonly isOpen: boolean
  readonly granted: Granted | undefined
  /** When it was sent. What was granted counts from then. */
  readonly sentAt: Instant
  /** Sends the request, as an attempt of the release. Call it once. */
  send(token: string, attempt: Attempt<ReleaseOutcome>): void
}

/** What is known of a store that offers the port. */
export interface PassOnOffer {
  readonly passOn: PassOn
  /** Undefined if the store does not know at present whom a release reaches. */
  begin(request: AcquireRequest): Passing | undefined
}

/** Kept beside the stores, not on them: a store that wraps another with its own calls does not offer what that does. */
export const offers: WeakMap<LeaseStore, PassOnOffer> = new WeakMap()

/** The port, if the store offers it. */
export const passOnOf = (store: LeaseStore): PassOn | undefined => offers.get(store)?.passOn
