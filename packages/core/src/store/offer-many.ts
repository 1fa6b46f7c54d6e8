import { manyOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { ManyStore } from './many.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = manyOffers as WeakMap<LeaseStore, ManyStore>

/** Offers several locks in one request, and answers the store. A Redis store need not: `manyOf` finds what it is made of. */
export function offerMany(store: LeaseStore, many: ManyStore): LeaseStore {
  offers.set(store, many)
  return store
}

/** The port that the store offers itself. */
export const offeredMany = (store: LeaseStore): ManyStore | undefined => offers.get(store)
