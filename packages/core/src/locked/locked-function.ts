import { demandOption } from '../errors.ts'
import { guarded } from './guard.ts'
import type { Lockable, LockedOptions } from './locked-options.ts'

/**
 * Makes a function that acquires a lock, calls `fn`, and releases the lock whatever happens. It has the `this`, the
 * arguments, the name and the length of `fn`, and returns a promise.
 *
 * The lock is held until the value that `fn` returns has settled. An iterator or a stream that it returns is not
 * covered. A guarded function that calls itself, or another one with the same key, waits for itself in vain. If the
 * work must pass on the lease's fence, or stop when the lease is lost, call `withLock`, which gives it the lease.
 *
 * @example
 * ```ts
 * const issue = lockedFunction(issueCoupon, {
 *   locks,
 *   key: (userId, couponId) => `coupon:${couponId}`,
 *   wait: '3s',
 *   failureMessage: 'Too many people want this coupon; try again',
 * })
 * await issue('ada', 'welcome')
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad. The function it returns rejects with
 *   - what `fn` throws
 *   - {@link LockContendedError} if somebody held the lock until the wait was over; then `fn` was not called
 *   - whatever else `withLock` rejects with: a store that does not answer is a `StoreUnavailableError`
 */
export function lockedFunction<F extends Lockable>(
  fn: F,
  options: LockedOptions<ThisParameterType<F>, F>,
): (this: ThisParameterType<F>, ...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>> {
  demandOption(typeof fn === 'function', 'fn', 'a function')
  return guarded(fn, options)
}
