import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: one record per key, which says whether the work under that key has been done and with
 * what result.
 *
 * States: *absent* → *running*, claimed by one run → *done* with its result, or *too large* to keep one. A run that
 * cannot go on gives up its claim, and the record becomes what it was before. A record that is running while nobody has
 * the lock is **in doubt**: its run died or lost its lease, and nobody knows what it has done. A claim that replaces
 * such a run inherits the doubt, and only its completion ends it: if the claim is given up, the record is in doubt
 * again, for the earlier run.
 *
 * A claim takes the key's lock as an acquire does and is renewed by `LeaseStore.renew` with its token. So runs and holders of the
 * lock exclude each other. The record outlives the lock. **The record's claim decides, not the order of writes:** a run that was
 * overtaken may not complete, even if it writes first.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and every
 * request may be repeated with the same acquisition id or token without harm. Each entry gets its expiry in the same step. A call
 * rejects only with an `InvalidOptionError`, before anything is sent.
 */
export interface RecordStore {
  /** Claims the key for a run, or says why it cannot be claimed. */
  claim(request: ClaimRequest, call: CallDeadline): Promise<ClaimOutcome>
  /**
   * Stores the result of a run, and frees the lock if the run still has it. It does not ask whether the lease is still valid.
   *
   * A server that is out of memory refuses a result and changes nothing: the claim stays as it is. The outcome is
   * *unknown*, not executed, with a cause whose message says `OOM`, or `HTTP 413` where a proxy refuses its size. Then
   * the same completion is sent without a result (`result: null`). It needs no more room than the claim, and is
   * accepted.
   */
  complete(request: CompleteRequest, call: CallDeadline): Promise<CompleteOutcome>
  /**
   * Undoes the claim of a run and frees the lock, as if the run had never been: the record is deleted, or is in doubt
   * again for the run that this one replaced, which may complete it. A full server accepts this.
   */
  abandon(request: AbandonRequest, call: CallDeadline): Promise<AbandonOutcome>
  /** Reads a record and who holds the lock. It changes nothing. */
  read(key: string, call: CallDeadline): Promise<ReadOutcome>
}

export interface ClaimRequest {
  readonly key: string
  /** The part of the token before the fence: see `parseToken`. All retries of one claim keep it. */
  readonly acquisitionId: string
  /** How long the store keeps the lock without renewal, in milliseconds. */
  readonly ttlMs: number
  /**
   * Tells apart requests that have the same key but ask for different work, such as a hash of the request: 1 to 128
   * visible ASCII characters.
   */
  readonly fingerprint: string
  /**
   * How long the store keeps the record of a run that does not end, in milliseconds from this claim or its last repeat;
   * longer if the record of a run that it replaces is kept longer. Until then, a run that died leaves the key in doubt;
   * after that, the key is free.
   */
  readonly keepMs: number
  /** Whether to claim a record in doubt, too. Its former run may have had its effect, so this may be the second. */
  readonly rerun: boolean
}

export interface CompleteRequest {
  readonly key: string
  readonly token: string
  /** The fingerprint of the claim. */
  readonly fingerprint: string
  /** At most `mostResultBytes` bytes; null for no result: then the record only says that the work is done. */
  readonly result: Uint8Array | null
  /** How long the store keeps the record, in milliseconds. */
  readonly keepMs: number
}

/** Gives a claim up by its token, or undoes it by its acquisition id if nothing else is known. */
export type AbandonRequest = { readonly key: string } & (
  | { readonly token: string }
  | { readonly acquisitionId: string }
)

/** Who holds a lock, as a contended acquire learns it. */
export interface HolderSeen {
  /** Time until the lock's expiry, in milliseconds; null for a holder without expiry. */
  readonly expiresInMs: number | null
  /** The cursor that `LeaseStore.checkHolders` and a notifier's waiter compare. */
  readonly cursor: string
  /** The name of the holding locker; null if it has none or is a foreign holder. */
  readonly holder: string | null
}

/** A record as stored. It never contains a token. */
export type StoredRecord = {
  /** The fence of the run that the record belongs to. */
  readonly fence: number
  /** The name of the run's locker; null if it has none. */
  readonly holder: string | null
  readonly fingerprint: string
  /** Time until the store forgets the record, in milliseconds; null for never, which only an operator can cause. */
  readonly expiresInMs: number | null
} & ({ readonly state: 'running' | 'too-large' } | { readonly state: 'done'; readonly result: Uint8Array })

export type ClaimOutcome =
  /** The run may begin. `overtook` is the run that left the record in doubt, if any: it may have had its effect. */
  | {
      readonly type: 'claimed'
      readonly token: string
      readonly fence: number
      /** The fence of the run that this run replaces. */
      readonly overtook: number | undefined
    }
  /** The work has been done, and this is its record: `done` or `too-large`. */
  | { readonly type: 'done'; readonly record: StoredRecord }
  /** The key was claimed with another fingerprint. Takes precedence over all else, whatever the state of the record. */
  | { readonly type: 'mismatch' }
  /** Somebody has the lock: a run with the same fingerprint, or a holder without a record. */
  | ({ readonly type: 'busy' } & HolderSeen)
  /** Nobody has the lock, and nobody knows what this run has done. */
  | { readonly type: 'in-doubt'; readonly record: StoredRecord }
  /** This claim came and went already. Nothing is claimed; ask again with a new acquisition id. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused

/** The record is not the caller's, or no longer. */
export type NotMine =
  /** Another run has the record. */
  | { readonly type: 'superseded'; readonly record: StoredRecord }
  /** There is no record, and the lock is not the caller's: the record was abandoned, evicted, or kept too briefly. */
  | { readonly type: 'gone' }

/** As for a release, except that `subscribers` is also null if the lock was no longer the run's. */
interface Ended {
  readonly announced: boolean
  readonly subscribers: number | null
}

export type CompleteOutcome =
  /** The record is done, by this request or by an earlier attempt of it. */
  ({ readonly type: 'completed' } & Ended) | NotMine | Unknown | Refused

export type AbandonOutcome =
  /** The claim is undone and the lock is free, by this request or by an earlier attempt of it. */
  | ({ readonly type: 'abandoned' } & Ended)
  /** This run has already completed its record, which stays. */
  | { readonly type: 'completed' }
  | NotMine
  | Unknown
  | Refused

export type ReadOutcome =
  | { readonly type: 'state'; readonly record: StoredRecord | null; readonly lock: HolderSeen | null }
  | Unknown
  | Refused
