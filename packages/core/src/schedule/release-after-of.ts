import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { releaseAfterOffers } from '../store/offers.ts'
import type { ReleaseAfterStore } from '../store/release-after.ts'
import { redisReleaseAfter } from './redis-release-after.ts'

/**
 * The port that releases a store's locks later, if the store offers it. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const [outcome] = (await releaseAfterOf(store)?.releaseAfter([request], call)) ?? []
 * ```
 */
export const releaseAfterOf = (store: LeaseStore): ReleaseAfterStore | undefined =>
  portOf(store, releaseAfterOffers, redisReleaseAfter)
