import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { offeredRecords, offerRecords } from '../store/offer-records.ts'
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
export function recordsOf(store: LeaseStore): RecordStore | undefined {
  const offered = offeredRecords(store)
  const made = makings.get(store)
  if (offered || !made) return offered
  const records = redisRecords(made, keyLayout(store.prefix))
  offerRecords(store, records)
  return records
}
