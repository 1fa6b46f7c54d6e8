import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { offeredReleaseAfter } from '../store/offer-release-after.ts'
import type { ReleaseAfterStore } from '../store/release-after.ts'
import { redisReleaseAfter } from './redis-release-after.ts'

/**
 * What releases the locks of a store later, if the store offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const [outcome] = (await releaseAfterOf(store)?.releaseAfter([request], call)) ?? []
 * ```
 */
export function releaseAfterOf(store: LeaseStore): ReleaseAfterStore | undefined {
  const made = makings.get(store)
  return offeredReleaseAfter(store) ?? (made && redisReleaseAfter(made, keyLayout(store.prefix)))
}
