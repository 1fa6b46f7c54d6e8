import type { CallDeadline } from '../timing/call-deadline.ts'
import type { ReleaseOutcome } from './lease-store.ts'

/**
 * An optional port of a store: a release that takes effect later.
 *
 * In one step the holder gives up the lock, and the lock is set to become free when the time is over. Until then nobody
 * holds it: it has the holder's name and fence, and a token that nobody knows. So a request left over from the former
 * holder, such as a late renewal, does not keep it longer. It is announced like a release, so that waiters learn of the
 * new expiry.
 *
 * The outcomes are those of a release, with `released` for a lock that will be free. As with `LeaseStore`, a request is carried out
 * atomically or not at all, and may be repeated without harm.
 */
export interface ReleaseAfterStore {
  releaseAfter(requests: readonly ReleaseAfterRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
}

export interface ReleaseAfterRequest {
  readonly key: string
  readonly token: string
  /** How long the lock stays taken, in whole milliseconds from now, whatever its expiry was. */
  readonly afterMs: number
}
