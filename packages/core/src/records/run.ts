import type { BlockScoped } from '../lease/block-scoped.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import type { NotMine } from '../store/records.ts'
import type { Duration } from '../timing/duration.ts'

/**
 * No usable answer: the request may have been carried out, and is repeated in the background while the lock is surely
 * ours.
 */
export interface Unanswered {
  readonly type: 'unknown'
  /** The error of the store or of the client, if there is one. */
  readonly cause: unknown
}

/** How completing a run ended. */
export type Completion =
  /**
   * Later claims find the record. `result` says whether they find the result, too: false if it was null or larger than
   * `mostResultBytes`, or if the server had no room for it.
   */
  { readonly type: 'completed'; readonly result: boolean } | NotMine | Unanswered

/** How abandoning a run ended. */
export type Abandonment = { readonly type: 'abandoned' } | { readonly type: 'completed' } | NotMine | Unanswered

export interface CompleteOptions {
  readonly keep?: Duration | undefined
  readonly resultOnly?: boolean | undefined
}

/**
 * Work under a key, claimed by this caller. The run has the key's lock, by a lease that is renewed until the run ends.
 *
 * The first call of `complete`, `abandon` or `leave` ends the run. Disposing the run without any of them leaves it. A
 * lease that is lost does not end the run, nor does closing the locker, which takes the lease away: the run may still
 * complete, unless another has claimed the key since.
 *
 * The locker's `waitUntil` gets a promise that settles when the run ends, so the work goes on after its caller has
 * left.
 */
export interface Run extends BlockScoped {
  readonly key: string
  /** Grows with every grant of this key. The guarded resource may check it. */
  readonly fence: number
  /**
   * The fence of the run that left the key in doubt, if this run replaces it. That run may have had its effect. Only a
   * completion ends the doubt that this run has taken over.
   */
  readonly overtook: number | undefined
  /** Aborted with a `LeaseLostError` when the lease is lost. */
  readonly signal: AbortSignal
  /** How long the lease may still be trusted, in milliseconds; 0 when it may not. */
  remaining(): number
  /**
   * Throws unless the lease may still be trusted. Call it before each side effect.
   *
   * @throws LeaseLostError if the lease is no longer ours
   * @throws LeaseholdError with code `LEASE_RELEASED` once the run has ended
   */
  assertValid(): void
  /**
   * Stores the result, so that later claims find it, and frees the lock in the same step. Settles within a command
   * deadline. Called again, it gives the first answer.
   *
   * `superseded` means that this run was overtaken: `record` is its successor's, with the result once there is one.
   * Answer with that result, not with your own. `unknown` means that nobody can say whether the result is stored; the
   * key stays guarded.
   *
   * @param result up to `mostResultBytes` bytes; for a larger one, or null, the record only says that the work is done
   * @param options `keep`: how long the record is kept; default 24 h. `resultOnly`: a record without the result is of
   *   no use; if the server has no room for it, the answer is `unknown`, and the key is in doubt once the lease has
   *   ended
   * @throws InvalidOptionError for a result that is neither bytes nor null, or a bad `keep`
   * @throws LeaseholdError with code `LEASE_RELEASED` if the run has ended in another way
   */
  complete(result: Uint8Array | null, options?: CompleteOptions): Promise<Completion>
  /**
   * Frees the lock and leaves the key as if this run had never been: the next request runs. If this run replaced one in
   * doubt (`overtook`), the key is in doubt again. Only for work that certainly had no effect.
   *
   * @throws LeaseholdError with code `LEASE_RELEASED` if the run has ended in another way
   */
  abandon(): Promise<Abandonment>
  /**
   * Gives the lease back and leaves the key in doubt, for work whose effect nobody knows. It never rejects. After
   * another ending, it does nothing and resolves with `released`.
   */
  leave(): Promise<ReleaseResult>
}
