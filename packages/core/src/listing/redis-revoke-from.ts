import type { Makings } from '#process-state'
import type { KeyLayout } from '../redis/keys.ts'
import { holding, revokeOutcome } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import { read } from '../redis/scripts/generated/read.ts'
import { release } from '../redis/scripts/generated/release.ts'
import { only } from '../store/answered.ts'
import type { RevokeFromOutcome, RevokeFromStore } from '../store/revoke-from.ts'
import { parseToken } from '../store/token.ts'

/** Revokes locks of a Redis store from one holder: a read, and then a release of exactly the value that was read. */
export const redisRevokeFrom = ([transport]: Makings, keys: KeyLayout): RevokeFromStore => ({
  async revokeFrom(key, fence, call) {
    const name = keys.lock(key)
    const lock = await only(runScript(transport, read, ['value'], 1, [name], (each) => [each], holding, call))
    if (lock === undefined || !('value' in lock)) return lock ?? { type: 'free' }
    if (lock.type === 'other' || (parseToken(lock.value)?.fence ?? null) !== fence) return { type: 'held' }
    const ending = (token: string) => [name, keys.fence(key), token, keys.releaseChannel(key)] as const
    const outcome = runScript(transport, release, ['revoked'], 2, [lock.value], ending, revokeOutcome, call)
    return (await only(outcome)) as RevokeFromOutcome
  },
})
