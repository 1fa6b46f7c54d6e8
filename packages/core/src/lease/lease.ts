import type { LeaseLostError } from '../errors.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import type { Duration } from '../timing/duration.ts'
import type { BlockScoped } from './block-scoped.ts'

/** How far to extend a lease: to `ttl` from now, or `by` so much beyond its present expiry. */
export type Extension = { readonly ttl: Duration } | { readonly by: Duration }

/**
 * A lock granted to this caller for a bounded time.
 *
 * A lease tells what its holder may believe; it cannot stop a process that was paused from going on afterwards. Where
 * that matters, pass `fence` to whatever is guarded and let that refuse a lower one (`@leasehold/core/fencing`).
 */
export interface Lease extends BlockScoped {
  readonly key: string
  /**
   * Proves the holder to the store. A secret: it belongs into no log and no message. Once it has been read, the lease is
   * given back to the store and no longer passes straight to the next waiter of this process.
   */
  readonly token: string
  /** Grows with every grant of this key. */
  readonly fence: number
  /**
   * Aborted when the lease is lost, with a {@link LeaseLostError}; never by a release. A held lease does not keep a process
   * alive: a program that only waits for this needs something else that does.
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
   * @throws LeaseLostError
   */
  assertValid(): void
  /**
   * Extends the lease once; scheduled renewal goes on with the ttl it had. An expiry is never shortened.
   *
   * @throws LeaseLostError if it is no longer ours · StoreUnavailableError if no answer came: it may be extended, and it
   *   is not lost · InvalidOptionError · LeaseholdError with code `LEASE_RELEASED` after release
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
