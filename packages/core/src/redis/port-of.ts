import { makings } from '#process-state'
import type { LeaseStore } from '../store/lease-store.ts'
import type { Offers } from '../store/offers.ts'
import { type KeyLayout, keyLayout } from './keys.ts'
import type { Makings } from './process-state.ts'

/** The additional port that a store offers, or undefined. For a Redis store it is made once, of the store's makings. */
export function portOf<Port>(
  store: LeaseStore,
  offers: Offers<Port>,
  make: (made: Makings, keys: KeyLayout) => Port,
): Port | undefined {
  const offered = offers.get(store)
  const made = makings.get(store)
  if (offered || !made) return offered
  const port = make(made, keyLayout(store.prefix))
  offers.set(store, port)
  return port
}
