import type { RevokeOutcome } from '../store/lease-store.ts'
import type { RevokeFromStore } from '../store/revoke-from.ts'
import { parseToken } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { heldBySeveral } from './queue/several-holders.ts'
import { answer } from './tables.ts'

/**
 * Revokes locks of a memory store from one particular holder.
 *
 * @param revoke takes the lock from any holder
 */
export const memoryRevokeFrom = (
  { clock, tables }: LockKeeper,
  revoke: (key: string) => RevokeOutcome,
): RevokeFromStore => ({
  revokeFrom: async (key, fence, call) =>
    answer(call, () => {
      const nowMs = clock.monotonicMs()
      const holder = tables.locks.get(key, nowMs)
      if (!holder) return { type: heldBySeveral(tables, key, nowMs) ? 'held' : 'free' }
      return (parseToken(holder.value)?.fence ?? null) === fence ? revoke(key) : { type: 'held' }
    }),
})
