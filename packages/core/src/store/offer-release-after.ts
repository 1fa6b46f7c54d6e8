import { releaseAfterOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { ReleaseAfterStore } from './release-after.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = releaseAfterOffers as WeakMap<LeaseStore, ReleaseAfterStore>

/** Offers releases that take effect later, and answers the store. A Redis store need not: `releaseAfterOf` finds what it is made of. */
export function offerReleaseAfter(store: LeaseStore, offered: ReleaseAfterStore): LeaseStore {
  offers.set(store, offered)
  return store
}

/** The port that the store offers itself. */
export const offeredReleaseAfter = (store: LeaseStore): ReleaseAfterStore | undefined => offers.get(store)
