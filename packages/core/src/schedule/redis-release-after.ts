import type { Makings } from '#process-state'
import type { KeyLayout } from '../redis/keys.ts'
import { releaseOutcome } from '../redis/replies.ts'
import { runScript } from '../redis/run-script.ts'
import type { ReleaseAfterRequest, ReleaseAfterStore } from '../store/release-after.ts'
import { releaseAfter } from './generated/release-after.ts'

/** Releases in a Redis store that take effect later: one command, or on a cluster one per hash tag. */
export function redisReleaseAfter([transport]: Makings, keys: KeyLayout): ReleaseAfterStore {
  const released = releaseOutcome(transport)
  const encode = ({ key, token, afterMs }: ReleaseAfterRequest): [string, string, string, string, string] => [
    keys.lock(key),
    keys.fence(key),
    token,
    String(afterMs),
    keys.releaseChannel(key),
  ]
  return {
    releaseAfter: (requests, call) => runScript(transport, releaseAfter, [], 2, requests, encode, released, call),
  }
}
