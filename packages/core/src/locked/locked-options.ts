import type { Lease } from '../lease/lease.ts'
import type { AcquireOptions } from '../options.ts'
import type { LockContendedError } from './lock-contended-error.ts'

/**
 * The part of a locker that guards functions. A wrapper around a locker also fits, and so do the calls of
 * `holdAtLeast`.
 */
export interface LockCalls {
  withLock<T>(key: string, options: AcquireOptions, work: (lease: Lease) => T | Promise<T>): Promise<T>
}

/** Any function that can be guarded. */
export type Lockable<This = never> = (this: This, ...args: never[]) => unknown

/** A run of a guarded function that has not ended when the next one is due. */
export interface Overrun {
  readonly key: string
  /** How long it has run, in whole milliseconds. */
  readonly runningMs: number
}

/** How a function is guarded. The options of `acquire` pass through. */
export interface LockedOptions<This, F extends Lockable> extends Omit<AcquireOptions, 'signal'> {
  /** A locker, or a function that returns the locker for a call, given the call's `this`. */
  readonly locks: LockCalls | ((self: This) => LockCalls)
  /** The key of the lock, or a function that returns it, given the `this` and the arguments of the call. */
  readonly key: string | ((this: This, ...args: Parameters<F>) => string)
  /**
   * The message of the {@link LockContendedError}, or a function that returns it, given what `key` is given. Defaults
   * to the message of the underlying error, which names the key and the holder, so it is not for clients.
   */
  readonly failureMessage?: string | ((this: This, ...args: Parameters<F>) => string) | undefined
  /** Takes the function's place if somebody held the lock until the wait was over. By default the error is thrown. */
  readonly onContended?:
    | ((error: LockContendedError) => Awaited<ReturnType<F>> | PromiseLike<Awaited<ReturnType<F>>>)
    | undefined
  /**
   * Called when a call gives up on the lock while an earlier call of this same function, in this process and for the
   * same key, still runs. If a timer makes the calls, the function has outlasted its interval: log a warning. It is
   * called before `onContended`; if it throws, the call rejects with that.
   */
  readonly onOverrun?: ((overrun: Overrun) => void) | undefined
  /**
   * A signal that ends a call's wait, or a function that returns one, given what `key` is given. The call then rejects
   * with the signal's reason.
   */
  readonly signal?: AbortSignal | ((this: This, ...args: Parameters<F>) => AbortSignal | undefined) | undefined
}
