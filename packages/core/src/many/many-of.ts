import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ManyStore } from '../store/many.ts'
import { manyOffers } from '../store/offers.ts'
import { redisMany } from './redis-many.ts'

/**
 * The port that acquires several locks of a store in one request, if the store offers it. The Redis store and the
 * memory store do.
 *
 * @example
 * ```ts
 * const outcome = await manyOf(store)?.acquireAll(request, call)
 * ```
 */
export const manyOf = (store: LeaseStore): ManyStore | undefined => portOf(store, manyOffers, redisMany)
