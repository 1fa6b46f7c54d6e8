import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: a revocation that hits one holder of a lock, and nobody who came after.
 */
export interface RevokeFromStore {
  /**
   * Takes a lock from the holder with this fence, in one step, as `LeaseStore.revoke` does.
   *
   * @param fence null for a foreign holder
   */
  revokeFrom(key: string, fence: number | null, call: CallDeadline): Promise<RevokeFromOutcome>
}

export type RevokeFromOutcome =
  /** `held`: somebody else holds the lock, or several do. Nothing was done. */
  { readonly type: 'revoked' | 'free' | 'held' } | Unknown | Refused
