import { placeOffers } from '#beside'
import type { ReleaseNotifier } from './release-notifier.ts'

/**
 * A further port, which a notifier may offer, for waiters in queues that nobody else looks for: it keeps their places while they
 * wait, and tells each of its turn.
 *
 * It is a notifier whose cursors are the names of waiters, `<inbox>.<number>`. A signal says that the waiter has its turn, or is no
 * longer in the queue. While a subscription is live, the waiter need not ask the store to stay in the queue.
 */
export type PlaceKeeper = ReleaseNotifier

/** Beside the notifiers and not on them, as with `offerPassOn`. */
const offers = placeOffers as WeakMap<ReleaseNotifier, PlaceKeeper>

/** Offers to keep places, and answers the notifier. */
export function offerPlaces(notifier: ReleaseNotifier, keeper: PlaceKeeper): ReleaseNotifier {
  offers.set(notifier, keeper)
  return notifier
}

/** The port, if the notifier offers it. */
export const placesOf = (notifier: ReleaseNotifier | undefined): PlaceKeeper | undefined =>
  notifier && offers.get(notifier)
