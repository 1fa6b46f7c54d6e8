import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ListingStore } from '../store/listing.ts'
import { listingOffers } from '../store/offers.ts'
import { redisListing } from './redis-listing.ts'

/**
 * What lists the locks of a store, if the store offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await listingOf(store)?.find('order:*', undefined, call)
 * ```
 */
export const listingOf = (store: LeaseStore): ListingStore | undefined => portOf(store, listingOffers, redisListing)
