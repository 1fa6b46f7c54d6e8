import type { Locker } from '../locker.ts'
import { checkKey } from '../store/key.ts'
import type { PermitLease, PermitWork } from './permit-lease.ts'
import { capacityOf, type PermitOptions, type SemaphoreOptions, type TryPermitOptions } from './permit-options.ts'
import { permitsOf } from './permits.ts'
import { SemaphoreCalls } from './semaphore-calls.ts'
import type { SemaphoreState } from './semaphore-state.ts'

/**
 * The calls for one semaphore, created by {@link semaphore}. Its only state is the number of permits, so create it
 * where you need it.
 */
export interface Semaphore {
  readonly key: string
  /**
   * Takes permits, and waits until enough are free. First come, first served: a call that wants many is never passed
   * over for later ones that want few, so a large request waits only as long as those before it take, and not forever.
   *
   * @example
   * ```ts
   * await using lease = await pool.acquire({ permits: 2, wait: '5s' })
   * lease.assertValid()
   * await callSlowApi({ signal: lease.signal })
   * ```
   *
   * @throws AcquireTimeoutError when too few were free before the wait or the budget ran out
   * @throws StoreUnavailableError when the store did not answer
   * @throws InvalidOptionError for a bad option, such as more permits than the semaphore has
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key is in use as another kind of lock, or with another
   *   number of permits
   * @throws the signal's own reason when `signal` is aborted
   */
  acquire(options?: PermitOptions): Promise<PermitLease>
  /**
   * Takes permits if enough are free and nobody waits. Null means that it took none.
   *
   * @example
   * ```ts
   * await using lease = await pool.tryAcquire()
   * if (!lease) return new Response('Busy', { status: 429 })
   * ```
   *
   * @throws everything that `acquire` throws, except AcquireTimeoutError
   */
  tryAcquire(options?: TryPermitOptions): Promise<PermitLease | null>
  /**
   * Runs work under permits, by default one, and gives them back whatever happens.
   *
   * @example
   * ```ts
   * const answer = await pool.withPermit({ wait: '5s' }, ({ signal }) => callSlowApi({ signal }))
   * ```
   *
   * @throws the work's own error, which wins over every other
   * @throws LeaseLostError if the lease was lost meanwhile; its `result` is what the work returned
   * @throws everything that `acquire` throws
   */
  withPermit<T>(work: PermitWork<T>): Promise<T>
  withPermit<T>(options: PermitOptions | undefined, work: PermitWork<T>): Promise<T>
  /**
   * Changes how many permits there are, for everybody. Holders keep theirs: if more are held than there are now, nobody
   * gets one until enough have come back. Waiters keep their places. From then on, the calls of this object ask for the
   * new number. Calls of objects with another number are refused with `KIND_MISMATCH` until those resize, too. The
   * store remembers the number as long as somebody holds a permit or waits for one. The request is sent once. If no
   * answer comes, it may or may not have been carried out; repeating it does no harm.
   *
   * @example
   * ```ts
   * await pool.resize(8)
   * ```
   *
   * @throws StoreUnavailableError when the store did not answer
   * @throws InvalidOptionError unless `permits` is a whole number from 1 to 1,000,000
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key is in use as another kind of lock
   */
  resize(permits: number): Promise<void>
  /**
   * Returns who has permits now, and who waits. It changes nothing, and another number of permits is not an error here.
   *
   * @example
   * ```ts
   * const { available, permits, waiting } = await pool.inspect()
   * ```
   *
   * @throws StoreUnavailableError when the store did not answer
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key is in use as another kind of lock
   */
  inspect(): Promise<SemaphoreState>
}

/**
 * A semaphore: at most `permits` permits are held at a time, by any number of processes.
 *
 * A permit is a lease. It has its own expiry, renewal, signal and fence, so what a killed process held comes back by
 * itself. Permits that are taken together form one lease, all or nothing.
 *
 * The number of permits is a property of the key while somebody holds one or waits for one. Asking with another number
 * is an error, because one of the two is a mistake; {@link Semaphore.resize} changes it.
 *
 * @example
 * ```ts
 * const pool = semaphore(locks, 'slow-api', { permits: 5 })
 * await pool.withPermit({ wait: '5s' }, ({ signal }) => callSlowApi({ signal }))
 * ```
 *
 * @throws InvalidOptionError for a bad key or option, or a locker whose store has no queues
 */
export function semaphore(locks: Locker, key: string, options: SemaphoreOptions): Semaphore {
  const permits = permitsOf(locks)
  checkKey(key)
  return new SemaphoreCalls(permits, key, capacityOf(options))
}
