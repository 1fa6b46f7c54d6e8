import { portOf } from '../redis/port-of.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { presenceOffers } from '../store/offers.ts'
import type { PresenceStore } from '../store/presence.ts'
import { redisPresence } from './redis-presence.ts'

/**
 * The port that keeps a store's rooms, if the store offers it. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcomes = await presenceOf(store)?.look([{ key: 'doc:7' }], call)
 * ```
 */
export const presenceOf = (store: LeaseStore): PresenceStore | undefined => portOf(store, presenceOffers, redisPresence)
