import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { queueOffers } from '../store/offers.ts'
import type { QueueStore } from '../store/queue.ts'
import { redisQueue } from './redis-queue.ts'

/**
 * The port that keeps the queues of a store's locks, if the store offers it. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await queueOf(store)?.inspect('job', call)
 * ```
 */
export const queueOf = (store: LeaseStore): QueueStore | undefined => portOf(store, queueOffers, redisQueue)
