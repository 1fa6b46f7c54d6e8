import type { ReleaseOutcome, ReleaseRequest } from '../store/lease-store.ts'
import type { ReleaseAfterStore } from '../store/release-after.ts'
import { nobodysToken } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { answer } from './tables.ts'

/**
 * Releases in a memory store that take effect later, following the Redis script.
 *
 * @param release carries out an ordinary release
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
          // Subscribers are notified after the current call, so they find the lock taken.
          if (isMine) tables.locks.set(key, nobodysToken(token), nowMs + afterMs, nowMs)
          return outcome
        }),
      ),
  }
}
