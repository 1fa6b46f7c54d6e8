import { handOverOffers } from '#beside'
import type { HandOverStore } from './hand-over.ts'
import type { LeaseStore } from './lease-store.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = handOverOffers as WeakMap<LeaseStore, HandOverStore>

/** Offers that a store's leases can be resumed, and answers the store. A Redis store need not: `handOverOf` finds what it is made of. */
export function offerHandOver(store: LeaseStore, handOver: HandOverStore): LeaseStore {
  offers.set(store, handOver)
  return store
}

/** The port that the store offers itself. */
export const offeredHandOver = (store: LeaseStore): HandOverStore | undefined => offers.get(store)
