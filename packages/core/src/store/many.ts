import type { CallDeadline } from '../timing/call-deadline.ts'
import type { AcquireOutcome, Refused, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: several locks in one request, all of them or none.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition ids without harm. A call rejects only with an `InvalidOptionError`, before anything is sent.
 *
 * Renewals and releases use the calls of `LeaseStore`: what is granted is a plain lock under each key.
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
 * A set that has waited for `elderAfterMs` becomes an *elder* of its locks once one of its requests is answered with
 * `held`, unless another elder has waited longer. While the store remembers it, sets that came more than `elderAfterMs`
 * after it get `held`, even if its locks are free. The store forgets it when it is granted, says that it has stopped
 * waiting, or has not asked again for `elderKeptMs`. Requests of `LeaseStore` ignore elders.
 */
export interface AcquireAllRequest {
  /** At least one lock; no key twice. */
  readonly locks: readonly {
    readonly key: string
    /** As in `AcquireRequest`. Different for each lock. */
    readonly acquisitionId: string
  }[]
  /** 0 for a set that has stopped waiting: then nothing is granted, and the answer is `spent` or `held`. */
  readonly ttlMs: number
  /** How long the set has waited, in milliseconds. */
  readonly waitedMs: number
}

export type AcquireAllOutcome =
  /** Now, or by an earlier attempt: then expiries are extended, and none is shortened. In the order of the request. */
  | { readonly type: 'granted'; readonly grants: readonly { readonly token: string; readonly fence: number }[] }
  /**
   * Nothing is granted. `at` is the index in the request of the first lock that another holds or that is left to an
   * elder; for an elder the cursor is `-`, and `expiresInMs` says when to ask again. The rest is as in
   * `AcquireOutcome`. `isElder`: this set is the elder now.
   */
  | (Extract<AcquireOutcome, { readonly type: 'held' }> & { readonly at: number; readonly isElder: boolean })
  /**
   * These acquisitions were granted, but some or all of the locks are no longer theirs. Nothing is granted. Release
   * what is left by the acquisition ids, and ask again with new ones.
   */
  | { readonly type: 'spent' }
  /** One request cannot span these keys, as only the server knew. Nothing is carried out; `groupsOf` knows it now. */
  | { readonly type: 'apart' }
  | Unknown
  /** `at` is the index of the lock that the refusal is about, if that is known. */
  | (Refused & { readonly at?: number | undefined })
