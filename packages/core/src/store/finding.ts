import { findingOffers } from '#beside'

/**
 * What a check found.
 *
 * - `error`: locks do not work, or their promise is broken
 * - `warning`: they work, but a fault that will come makes them slow or lets a second holder in
 * - `info`: good to know; nothing has to change
 */
export interface Finding {
  /** What the finding is about. `docs/check.md` lists all codes; those of a client's adapter begin with `CLIENT_`. */
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  /** What was seen. Never a token or a credential. */
  readonly message: string
  /** What makes the finding go away. */
  readonly remedy: string
}

/** A promise is for what only another turn of the event loop can tell. */
type Offered = readonly Finding[] | Promise<readonly Finding[]>

/** Kept beside the store, transport or notifier, not on it, as with `offerPassOn`. */
const offers = findingOffers as WeakMap<object, () => Offered>

/**
 * Offers what a store, transport or notifier knows about itself that matters to locks, such as a risky option of its
 * client, and returns `subject`. `look` is called on each check, after the store has been asked for a lock. It must do no
 * I/O and neither throw nor reject.
 */
export function offerFindings<T extends object>(subject: T, look: () => Offered): T {
  offers.set(subject, look)
  return subject
}

/** The findings that it offers; undefined if it offers none. */
export const offeredFindings = (subject: object): Offered | undefined => offers.get(subject)?.()
