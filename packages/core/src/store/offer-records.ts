import { recordOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { RecordStore } from './records.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = recordOffers as WeakMap<LeaseStore, RecordStore>

/** Offers a store's records, and answers the store. A Redis store need not: `recordsOf` finds what it is made of. */
export function offerRecords(store: LeaseStore, records: RecordStore): LeaseStore {
  offers.set(store, records)
  return store
}

/** The records that the store offers itself. */
export const offeredRecords = (store: LeaseStore): RecordStore | undefined => offers.get(store)
