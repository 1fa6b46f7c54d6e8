import type { LeaseLostError } from '../errors.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import type { Duration } from '../timing/duration.ts'
import type { BlockScoped } from './block-scoped.ts'

/** How far to extend a lease: to `ttl` from now, or `by` this much beyond its present expiry. */
export type Extension =
  | { readonly ttl: Duration; readonly by?: undefined }
  | { readonly by: Duration; readonly ttl?: undefined }

/**
 * A lock granted to this caller for a bounded time.
 *
 * A lease says what its holder may believe. It cannot stop a paused process from going on afterwards. Where that
 * matters, pass `fence` to the guarded resource and let it refuse a lower one (`@leasehold/core/fencing`).
 */
export interface Lease extends BlockScoped {
  readonly key: string
  /**
   * Proves the holder to the store. It is a secret: keep it out of logs and messages. A lease whose token you have read is not
   * handed off to the next waiter of this process: its release goes to the store.
   */
  readonly token: string
  /** Grows with every grant of this key. */
  readonly fence: number
  /**
   * Aborted with a {@link LeaseLostError} when the lease is lost, never by a release. A held lease does not keep the
   * process alive: a program that only waits for this signal needs something else to do so.
   *
   * @example
   * ```ts
   * await fetch(url, { method: 'POST', signal: lease.signal })
   * ```
   */
  readonly signal: AbortSignal
  /** How long the acquire took, in whole milliseconds. */
  readonly waitedMs: number
  /** How many store commands the acquire used; 0 if the lease was handed off within this process. */
  readonly commands: number
  /** How long the lease may still be trusted, in milliseconds, by our own clock; 0 once it may not. */
  remaining(): number
  /**
   * Throws unless the lease may still be trusted. Call it before each side effect: timers can be late, so the signal
   * may fire after the validity is over. On Workers the clock stands still between I/O, so there the result is as of
   * the last I/O.
   *
   * @example
   * ```ts
   * for (const order of orders) {
   *   lease.assertValid()
   *   await ship(order, { fence: lease.fence })
   * }
   * ```
   *
   * @throws LeaseLostError if the lease is no longer ours
   * @throws LeaseholdError with code `LEASE_RELEASED` after release
   */
  assertValid(): void
  /**
   * Extends the lease once. Scheduled renewal continues with its own ttl. The expiry is never shortened.
   *
   * @example
   * ```ts
   * await lease.renew({ by: '3m' }) // three minutes beyond its present expiry
   * await lease.renew({ ttl: '30s' }) // 30 seconds from now
   * ```
   *
   * @throws LeaseLostError if the lease is no longer ours
   * @throws StoreUnavailableError if no answer came: the lease is not lost, and may have been extended
   * @throws InvalidOptionError for a bad extension
   * @throws LeaseholdError with code `LEASE_RELEASED` after release
   */
  renew(extension: Extension): Promise<void>
  /**
   * Gives the lease back and returns how that ended. It never rejects, and settles within the store's command deadline.
   * Further calls return the first result.
   *
   * @example
   * ```ts
   * const outcome = await lease.release()
   * if (outcome !== 'released') console.warn(`The lock was not ours to the end: ${outcome}`)
   * ```
   */
  release(): Promise<ReleaseResult>
}

/** What `withLock` runs under a lock. The lease is given back once it has settled. */
export type Work<T> = (lease: Lease) => T | Promise<T>
