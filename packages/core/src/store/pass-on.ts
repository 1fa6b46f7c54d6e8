import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Instant } from '../timing/validity.ts'
import type { Attempt } from './attempt.ts'
import type { AcquireOutcome, AcquireRequest, LeaseStore, ReleaseOutcome } from './lease-store.ts'

/**
 * A further port, which a store may offer: a release and an acquire of the same process in one request.
 *
 * The store frees the lock and announces that, as with a release. Only if it knows for certain that nobody was told, it grants
 * the lock to the acquisition in the same step, as with an acquire. It grants nothing new unless it carries the release out
 * itself. So a repeat answers the grant that was made, or none.
 *
 * Without an answer, the core repeats the two requests apart: a release and an acquire, with the same token and acquisition id.
 */
export type PassOn = (request: PassOnRequest, call: CallDeadline) => Promise<PassOnOutcome>

/** The token to release, and the acquisition to grant the lock to. */
export interface PassOnRequest extends AcquireRequest {
  readonly token: string
}

export interface PassOnOutcome {
  /** What became of the release. */
  readonly released: ReleaseOutcome
  /** Undefined if the acquisition was not granted, or that is not known because `released` is no answer. */
  readonly granted: Granted | undefined
}

export type Granted = Extract<AcquireOutcome, { readonly type: 'granted' }>

/** A release that asks for a grant with it: one use of the port. */
export interface Passing {
  /** The acquire. */
  readonly request: AcquireRequest
  /** Whether it has been granted, or may have been. Then it is repeated, or undone. */
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
  begin(request: AcquireRequest): Passing
}

/** Beside the stores and not on them: a store made of another, with calls of its own, does not offer what that one offers. */
export const offers: WeakMap<LeaseStore, PassOnOffer> = new WeakMap()

/** The port, if the store offers it. */
export const passOnOf = (store: LeaseStore): PassOn | undefined => offers.get(store)?.passOn
