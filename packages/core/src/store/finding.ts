import { findingOffers } from '#beside'

/**
 * What a check found.
 *
 * - `error`: locks do not work, or their promise is broken
 * - `warning`: they work, and a fault that will come makes them slow, or lets a second holder in
 * - `info`: good to know, and nothing that has to change
 */
export interface Finding {
  /** What it is about. `docs/check.md` has all of them; those of a client's adapter begin with `CLIENT_`. */
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  /** What was seen. Never a token or a credential. */
  readonly message: string
  /** What makes the finding go away. */
  readonly remedy: string
}

/** Beside a store, a transport or a notifier, and not on it, as with `offerPassOn`. */
const offers = findingOffers as WeakMap<object, () => readonly Finding[]>

/**
 * Offers what a store, a transport or a notifier knows of itself that matters to locks, such as a risky option of its client, and
 * answers the thing itself. `look` is called at each check. It does no I/O and does not throw.
 */
export function offerFindings<T extends object>(subject: T, look: () => readonly Finding[]): T {
  offers.set(subject, look)
  return subject
}

/** What it offers; undefined if it offers nothing. */
export const offeredFindings = (subject: object): readonly Finding[] | undefined => offers.get(subject)?.()
