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
 * The port that revokes a store's locks from one holder, if the store offers it, as the Redis and memory stores do.
 *
 * @example
 * ```ts
 * const outcome = await revokeFromOf(store)?.revokeFrom('order:1', fence, call)
 * ```
 */
export const revokeFromOf = (store: LeaseStore): RevokeFromStore | undefined =>
  portOf(store, revokeFromOffers, redisRevokeFrom)

/**
 * Takes a lock away from one particular holder, and from nobody who came after it, whereas `locks.revoke` takes it from
 * whoever has it by then. `held` means that somebody else has the lock, or several do, and that nothing was done. The
 * request is not repeated.
 *
 * @param fence the holder's fence, as `inspect`, `listLocks` and `inspectQueue` show it; null for a foreign holder,
 *   whichever it is
 *
 * @example
 * ```ts
 * const state = await locks.inspect('order:1')
 * if (state.held) console.log(await revokeFrom(locks, 'order:1', state.fence))
 * ```
 *
 * @throws StoreUnavailableError if the store did not answer; `executed` is `'unknown'` if the lock may have been
 *   revoked
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
