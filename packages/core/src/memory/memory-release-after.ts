import type { ReleaseOutcome, ReleaseRequest } from '../store/lease-store.ts'
import type { ReleaseAfterStore } from '../store/release-after.ts'
import { nobodysToken } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { answer } from './tables.ts'

/**
 * Releases of a memory store that take effect later. They follow the Redis script.
 *
 * @param release carries an ordinary release out
 */
export function memoryReleaseAfter(
  { clock, tables }: LockKeeper,
  release: (request: ReleaseRequest) => ReleaseOutcome,
): ReleaseAfterStore {
  return {
    releaseAfter: async (requests, call) =>
      requests.map(({ key, token, afterMs }) =>
        answer(call, () => {
          const nowMs = clock.monotonicMs()
          const isMine = tables.locks.get(key, nowMs)?.value === token
          const outcome = release({ key, token })
          // Subscribers are told after the present call, so they find it taken.
          if (isMine) tables.locks.set(key, nobodysToken(token), nowMs + afterMs, nowMs)
          return outcome
        }),
      ),
  }
}
