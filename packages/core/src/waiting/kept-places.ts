import { placeOffers } from '#beside'
import type { ReleaseNotifier } from './release-notifier.ts'

/**
 * An optional port of a notifier, for waiters in queues that nobody else looks for: it keeps their places while they
 * wait, and notifies each of its turn.
 *
 * It is a notifier whose cursors are the names of waiters, `<inbox>.<number>`. A signal says that the waiter has its
 * turn or is no longer in the queue. While a subscription is live, the waiter stays in the queue without asking the
 * store.
 */
export type PlaceKeeper = ReleaseNotifier

/** Kept beside the notifiers, not on them, as with `offerPassOn`. */
const offers = placeOffers as WeakMap<ReleaseNotifier, PlaceKeeper>

/** Offers to keep places, and returns the notifier. */
export function offerPlaces(notifier: ReleaseNotifier, keeper: PlaceKeeper): ReleaseNotifier {
  offers.set(notifier, keeper)
  return notifier
}

/** The port, if the notifier offers it. */
export const placesOf = (notifier: ReleaseNotifier | undefined): PlaceKeeper | undefined =>
  notifier && offers.get(notifier)
