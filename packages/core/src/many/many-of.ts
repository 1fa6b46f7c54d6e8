import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ManyStore } from '../store/many.ts'
import { offeredMany } from '../store/offer-many.ts'
import { redisMany } from './redis-many.ts'

/**
 * What takes several locks of a store in one request, if the store offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await manyOf(store)?.acquireAll(request, call)
 * ```
 */
export function manyOf(store: LeaseStore): ManyStore | undefined {
  const made = makings.get(store)
  return offeredMany(store) ?? (made && redisMany(made, keyLayout(store.prefix)))
}
