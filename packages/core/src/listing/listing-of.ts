import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ListingStore } from '../store/listing.ts'
import { offeredListing } from '../store/offer-listing.ts'
import { redisListing } from './redis-listing.ts'

/**
 * What lists the locks of a store, if the store offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await listingOf(store)?.find('order:*', undefined, call)
 * ```
 */
export function listingOf(store: LeaseStore): ListingStore | undefined {
  const made = makings.get(store)
  return offeredListing(store) ?? (made && redisListing(made, keyLayout(store.prefix)))
}
