/** Listing: which locks there are, who holds them and how many wait; and revoking a lock from one particular holder. */

export type {
  FindOutcome,
  ListedLock,
  ListingPlace,
  ListingStore,
  ReadOutcome,
} from '../store/listing.ts'
export type { RevokeFromOutcome, RevokeFromStore } from '../store/revoke-from.ts'
export { globMatcher } from './glob.ts'
export { type ListOptions, listLocks } from './list-locks.ts'
export { listingOf } from './listing-of.ts'
export { readLocks } from './read-locks.ts'
export { revokeFrom, revokeFromOf } from './revoke-from.ts'
