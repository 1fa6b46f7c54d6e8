import { demandOption } from '../errors.ts'
import { sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { portOf } from '../redis/port-of.ts'
import { answered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import { checkKey } from '../store/key.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { revokeFromOffers } from '../store/offers.ts'
import type { RevokeFromOutcome, RevokeFromStore } from '../store/revoke-from.ts'
import { redisRevokeFrom } from './redis-revoke-from.ts'

/**
 * What revokes from one holder of a store's locks, if the store offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await revokeFromOf(store)?.revokeFrom('order:1', fence, call)
 * ```
 */
export const revokeFromOf = (store: LeaseStore): RevokeFromStore | undefined =>
  portOf(store, revokeFromOffers, redisRevokeFrom)

/**
 * Takes a lock away from the holder that was seen, and from nobody who came after: `locks.revoke` takes it from whoever has it by then.
 * `held` says that somebody else has it, or that several have, and that nothing was done. It is not repeated.
 *
 * @param fence that of the holder, as `inspect`, `listLocks` and `inspectQueue` show it; null for a foreign holder, of whom any is hit
 *
 * @example
 * ```ts
 * const state = await locks.inspect('order:1')
 * if (state.held) console.log(await revokeFrom(locks, 'order:1', state.fence))
 * ```
 *
 * @throws StoreUnavailableError when the store did not answer; `executed` is `'unknown'` if it may have been done
 * @throws InvalidOptionError for a bad key, or a locker whose store cannot do this
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 */
export async function revokeFrom(
  locks: Locker,
  key: string,
  fence: number | null,
): Promise<'revoked' | 'free' | 'held'> {
  const shared = sharedOf(locks)
  const port = shared && revokeFromOf(shared.context.store)
  demandOption(shared !== undefined && port !== undefined, 'locks', 'a locker whose store can revoke from one holder')
  checkKey(key)
  const { context, queue } = shared
  context.work.assertOpen()
  const present = queue()?.holding(key)
  const { outcome, before } = await ask<RevokeFromOutcome>(context, Infinity, {
    once: true,
    send: (attempt) => attempt.follow(port.revokeFrom(key, fence, attempt)),
  })
  const { type } = answered('revoke', key, outcome, before) as Extract<RevokeFromOutcome, { readonly type: 'held' }>
  // A holder in this process learns of it at once, without waiting for its next renewal.
  if (type === 'revoked' && present?.fence === fence) void context.home(() => present.lose('gone'))
  return type
}
