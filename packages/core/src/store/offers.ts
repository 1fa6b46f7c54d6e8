import * as beside from '#beside'
import type { HandOverStore } from './hand-over.ts'
import type { LeaseStore } from './lease-store.ts'
import type { ListingStore } from './listing.ts'
import type { ManyStore } from './many.ts'
import type { PresenceStore } from './presence.ts'
import type { QueueStore } from './queue.ts'
import type { RecordStore } from './records.ts'
import type { ReleaseAfterStore } from './release-after.ts'
import type { RevokeFromStore } from './revoke-from.ts'

/**
 * Stores that offer an optional port, each with that port. The port is kept beside the store, not on it, so that a
 * bundle carries nothing of a port that nobody imports.
 */
export type Offers<Port> = WeakMap<LeaseStore, Port>

function offer<Port>(offers: Offers<Port>, store: LeaseStore, port: Port): LeaseStore {
  offers.set(store, port)
  return store
}

export const handOverOffers = beside.handOverOffers as Offers<HandOverStore>
/** Offers to resume a store's leases, and returns the store. A Redis store need not: `handOverOf` makes the port. */
export const offerHandOver = (store: LeaseStore, port: HandOverStore): LeaseStore => offer(handOverOffers, store, port)

export const listingOffers = beside.listingOffers as Offers<ListingStore>
/** Offers a list of a store's locks, and returns the store. A Redis store need not: `listingOf` makes the port. */
export const offerListing = (store: LeaseStore, port: ListingStore): LeaseStore => offer(listingOffers, store, port)

export const manyOffers = beside.manyOffers as Offers<ManyStore>
/** Offers several locks in one request, and returns the store. A Redis store need not: `manyOf` makes the port. */
export const offerMany = (store: LeaseStore, port: ManyStore): LeaseStore => offer(manyOffers, store, port)

export const presenceOffers = beside.presenceOffers as Offers<PresenceStore>
/** Offers a store's rooms, and returns the store. A Redis store need not: `presenceOf` makes the port. */
export const offerPresence = (store: LeaseStore, port: PresenceStore): LeaseStore => offer(presenceOffers, store, port)

export const queueOffers = beside.queueOffers as Offers<QueueStore>
/** Offers that a store's locks have queues, and returns the store. A Redis store need not: `queueOf` makes the port. */
export const offerQueue = (store: LeaseStore, port: QueueStore): LeaseStore => offer(queueOffers, store, port)

export const recordOffers = beside.recordOffers as Offers<RecordStore>
/** Offers a store's records, and returns the store. A Redis store need not: `recordsOf` makes the port. */
export const offerRecords = (store: LeaseStore, port: RecordStore): LeaseStore => offer(recordOffers, store, port)

export const releaseAfterOffers = beside.releaseAfterOffers as Offers<ReleaseAfterStore>
/** Offers delayed releases, and returns the store. A Redis store need not: `releaseAfterOf` makes the port. */
export const offerReleaseAfter = (store: LeaseStore, port: ReleaseAfterStore): LeaseStore =>
  offer(releaseAfterOffers, store, port)

export const revokeFromOffers = beside.revokeFromOffers as Offers<RevokeFromStore>
/** Offers revocations from one holder, and returns the store. A Redis store need not: its port is made. */
export const offerRevokeFrom = (store: LeaseStore, port: RevokeFromStore): LeaseStore =>
  offer(revokeFromOffers, store, port)
