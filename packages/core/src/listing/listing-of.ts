import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ListingStore } from '../store/listing.ts'
import { listingOffers } from '../store/offers.ts'
import { redisListing } from './redis-listing.ts'

/**
 * The port that lists a store's locks, if the store offers it. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await listingOf(store)?.find('order:*', undefined, call)
 * ```
 */
export const listingOf = (store: LeaseStore): ListingStore | undefined => portOf(store, listingOffers, redisListing)
