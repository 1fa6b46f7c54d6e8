import { listingOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { ListingStore } from './listing.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = listingOffers as WeakMap<LeaseStore, ListingStore>

/** Offers a list of a store's locks, and answers the store. A Redis store need not: `listingOf` finds what it is made of. */
export function offerListing(store: LeaseStore, offered: ListingStore): LeaseStore {
  offers.set(store, offered)
  return store
}

/** The port that the store offers itself. */
export const offeredListing = (store: LeaseStore): ListingStore | undefined => offers.get(store)
