import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { recordOffers } from '../store/offers.ts'
import type { RecordStore } from '../store/records.ts'
import { redisRecords } from './redis-records.ts'

/**
 * The records of a store, if it offers them. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const records = recordsOf(store)
 * const state = await records?.read('payment:1', call)
 * ```
 */
export const recordsOf = (store: LeaseStore): RecordStore | undefined => portOf(store, recordOffers, redisRecords)
