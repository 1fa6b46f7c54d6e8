import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { offeredPresence, offerPresence } from '../store/offer-presence.ts'
import type { PresenceStore } from '../store/presence.ts'
import { redisPresence } from './redis-presence.ts'

/**
 * What keeps the rooms of a store, if it offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcomes = await presenceOf(store)?.look([{ key: 'doc:7' }], call)
 * ```
 */
export function presenceOf(store: LeaseStore): PresenceStore | undefined {
  const offered = offeredPresence(store)
  const made = makings.get(store)
  if (offered || !made) return offered
  const presence = redisPresence(made, keyLayout(store.prefix))
  offerPresence(store, presence)
  return presence
}
