import type { LeaseLostError } from '../errors.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import type { Duration } from '../timing/duration.ts'
import type { BlockScoped } from './block-scoped.ts'

/** How far to extend a lease: to `ttl` from now, or `by` so much beyond its present expiry. */
export type Extension =
  | { readonly ttl: Duration; readonly by?: undefined }
  | { readonly by: Duration; readonly ttl?: undefined }

/**
 * A lock granted to this caller for a bounded time.
 *
 * A lease tells what its holder may believe; it cannot stop a process that was paused from going on afterwards. Where
 * that matters, pass `fence` to whatever is guarded and let that refuse a lower one (`@leasehold/core/fencing`).
 */
export interface Lease extends BlockScoped {
  readonly key: string
  /**
   * Proves the holder to the store. A secret: keep it out of logs and messages. Once you have read it, the lease goes back to
   * the store on release and is not handed off to the next waiter of this process.
   */
  readonly token: string
  /** Grows with every grant of this key. */
  readonly fence: number
  /**
   * Aborted when the lease is lost, with a {@link LeaseLostError}; never by a release. A held lease does not keep a process
   * alive: a program that only waits for this needs something else that does.
   *
   * @example
   * ```ts
   * await fetch(url, { method: 'POST', signal: lease.signal })
   * ```
   */
  readonly signal: AbortSignal
  /** How long the acquire took, in milliseconds, and how many store commands it used. */
  readonly waitedMs: number
  readonly commands: number
  /** How long the lease may still be trusted, in milliseconds, by our own clock; 0 when it may not. */
  remaining(): number
  /**
   * Does nothing while the lease may be trusted. Call it before each side effect: timers can be late, so the signal may
   * fire after the validity is over. On Workers the clock stands still between I/O, so there it is true as of the last.
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
   * Extends the lease once; scheduled renewal goes on with the ttl it had. An expiry is never shortened.
   *
   * @example
   * ```ts
   * await lease.renew({ by: '3m' }) // three minutes beyond its present expiry
   * await lease.renew({ ttl: '30s' }) // 30 seconds from now
   * ```
   *
   * @throws LeaseLostError if the lease is no longer ours
   * @throws StoreUnavailableError if no answer came: it may be extended, and it is not lost
   * @throws InvalidOptionError for a bad extension
   * @throws LeaseholdError with code `LEASE_RELEASED` after release
   */
  renew(extension: Extension): Promise<void>
  /**
   * Gives the lease back and says how that ended; never throws, and called again it gives the first answer. It settles
   * within the store's command deadline.
   */
  release(): Promise<ReleaseResult>
}

/** What is done under a lock. Its lease is given back when this has settled. */
export type Work<T> = (lease: Lease) => T | Promise<T>
