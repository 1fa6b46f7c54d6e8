import { portOf } from '../redis/port-of.ts'
import type { HandOverStore } from '../store/hand-over.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { handOverOffers } from '../store/offers.ts'
import { redisHandOver } from './redis-hand-over.ts'

/**
 * The port that resumes the leases of a store, if the store offers it. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await handOverOf(store)?.resume(request, call)
 * ```
 */
export const handOverOf = (store: LeaseStore): HandOverStore | undefined => portOf(store, handOverOffers, redisHandOver)
