import { presenceOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { PresenceStore } from './presence.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = presenceOffers as WeakMap<LeaseStore, PresenceStore>

/** Offers a store's rooms, and answers the store. A Redis store need not: `presenceOf` finds what it is made of. */
export function offerPresence(store: LeaseStore, presence: PresenceStore): LeaseStore {
  offers.set(store, presence)
  return store
}

/** The port that the store offers itself. */
export const offeredPresence = (store: LeaseStore): PresenceStore | undefined => offers.get(store)
