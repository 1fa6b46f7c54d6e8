import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { HandOverStore } from '../store/hand-over.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { offeredHandOver } from '../store/offer-hand-over.ts'
import { redisHandOver } from './redis-hand-over.ts'

/**
 * What resumes the leases of a store, if it offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await handOverOf(store)?.resume(request, call)
 * ```
 */
export function handOverOf(store: LeaseStore): HandOverStore | undefined {
  const made = makings.get(store)
  return offeredHandOver(store) ?? (made && redisHandOver(made, keyLayout(store.prefix)))
}
