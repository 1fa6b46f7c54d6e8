import type { CallDeadline } from '../timing/call-deadline.ts'
import type { AcquireOutcome, Refused, Unknown } from './lease-store.ts'

/**
 * A further port, which a store may offer: several locks in one request, all of them or none.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition ids without harm. A call rejects only with an `InvalidOptionError`, before anything is sent.
 *
 * To renew and to release takes nothing but the calls of `LeaseStore`: what is granted is a plain lock under each key.
 */
export interface ManyStore {
  /**
   * Splits keys, without changing their order, into groups that one request can span: on a cluster, neighbours with the same hash
   * tag. Does no I/O.
   */
  groupsOf(keys: readonly string[]): readonly (readonly string[])[]
  acquireAll(request: AcquireAllRequest, call: CallDeadline): Promise<AcquireAllOutcome>
}

/**
 * A set that has waited for `elderAfterMs` is an *elder* of its locks, once a request of it was refused, unless another elder has waited
 * for longer. While the store knows of it, sets that came more than `elderAfterMs` after it are refused, though its locks be free. The
 * store forgets it when it is granted, says that it has ceased to wait, or has not asked again for `elderKeptMs`. Requests of
 * `LeaseStore` know nothing of elders.
 */
export interface AcquireAllRequest {
  /** At least one; no key twice. */
  readonly locks: readonly {
    readonly key: string
    /** As in `AcquireRequest`. No two locks have the same. */
    readonly acquisitionId: string
  }[]
  /** 0 for a set that has ceased to wait. Then nothing is granted, and the answer is `spent` or `held`. */
  readonly ttlMs: number
  /** How long the set has waited, in milliseconds. */
  readonly waitedMs: number
}

export type AcquireAllOutcome =
  /** Now, or by an earlier attempt: then each expiry is extended, and none is shortened. In the order of the request. */
  | { readonly type: 'granted'; readonly grants: readonly { readonly token: string; readonly fence: number }[] }
  /**
   * Nothing is granted. `at` is the place in the request of the first lock that another holds, or that is left to an elder: then the
   * cursor is `-`, and `expiresInMs` says when to ask again. The rest is as in `AcquireOutcome`. `isElder`: this set is the elder now.
   */
  | (Extract<AcquireOutcome, { readonly type: 'held' }> & { readonly at: number; readonly isElder: boolean })
  /**
   * These acquisitions were granted, and some or all of the locks are not theirs any more. Nothing is granted. Release by the
   * acquisition ids what is left, and ask again with new ones.
   */
  | { readonly type: 'spent' }
  /** One request cannot span these keys, which only the server knew. Nothing is carried out; `groupsOf` knows it now. */
  | { readonly type: 'apart' }
  | Unknown
  /** `at` is the place of the lock that it is about, where that is known. */
  | (Refused & { readonly at?: number | undefined })
