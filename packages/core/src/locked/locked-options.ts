import type { Lease } from '../lease/lease.ts'
import type { AcquireOptions } from '../options.ts'
import type { LockContendedError } from './lock-contended-error.ts'

/** The part of a locker that guards functions. A wrapper around a locker fits, too, and so do the calls of `holdAtLeast`. */
export interface LockCalls {
  withLock<T>(key: string, options: AcquireOptions, work: (lease: Lease) => T | Promise<T>): Promise<T>
}

/** Any function that can be guarded. */
export type Lockable<This = never> = (this: This, ...args: never[]) => unknown

/** How a function is guarded. The options of an acquire pass through. */
export interface LockedOptions<This, F extends Lockable> extends Omit<AcquireOptions, 'signal'> {
  /** A locker, or a function that returns the one for a call, given the call's `this`. */
  readonly locks: LockCalls | ((self: This) => LockCalls)
  /** The key of the lock, or a function that returns it, given the `this` and the arguments of the call. */
  readonly key: string | ((this: This, ...args: Parameters<F>) => string)
  /**
   * The message of the {@link LockContendedError}, or a function that returns it, given what `key` is given; default: that of the
   * error behind it, which names the key and the holder, and so is not for clients.
   */
  readonly failureMessage?: string | ((this: This, ...args: Parameters<F>) => string) | undefined
  /** Answers in place of the function when somebody held the lock until the wait was over; default: the error is thrown. */
  readonly onContended?:
    | ((error: LockContendedError) => Awaited<ReturnType<F>> | PromiseLike<Awaited<ReturnType<F>>>)
    | undefined
  /** Ends the wait of a call, or returns what does, given what `key` is given. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | ((this: This, ...args: Parameters<F>) => AbortSignal | undefined) | undefined
}
