import { queueOffers } from '#beside'
import type { LeaseStore } from './lease-store.ts'
import type { QueueStore } from './queue.ts'

/** Beside the stores and not on them, as with `offerPassOn`. */
const offers = queueOffers as WeakMap<LeaseStore, QueueStore>

/** Offers that a store's locks have queues, and answers the store. A Redis store need not: `queueOf` finds what it is made of. */
export function offerQueue(store: LeaseStore, queue: QueueStore): LeaseStore {
  offers.set(store, queue)
  return store
}

/** The port that the store offers itself. */
export const offeredQueue = (store: LeaseStore): QueueStore | undefined => offers.get(store)
