import type { Duration, Locker } from '@leasehold/core'
import type { LockContendedError, LockedOptions } from '@leasehold/core/locked'

/** A method that returns a promise. */
export type AsyncMethod = (...args: never[]) => Promise<unknown>

/**
 * What happens to a call when somebody holds the lock until the wait is over. A status: the call rejects with a
 * `LockContendedException` of that status. `skip`: it returns undefined, as a scheduled job should; only for a method
 * whose result may be undefined. A function answers in place of the method.
 */
export type OnContended<M extends AsyncMethod> =
  | 409
  | 423
  | ((error: LockContendedError) => Awaited<ReturnType<M>>)
  | (undefined extends Awaited<ReturnType<M>> ? 'skip' : never)

/** How a method is guarded. The options of an acquire pass through. */
export interface DistributedLockOptions<This extends object, M extends AsyncMethod>
  extends Omit<LockedOptions<This, M>, 'locks' | 'onContended' | 'onOverrun' | 'failureMessage'> {
  /** The name of the locker, as given to the module; default: the one without a name. */
  readonly locker?: string | undefined
  /**
   * Returns the locker, for an instance that Nest does not create, such as one from a factory; default: Nest injects
   * it.
   */
  readonly locks?: ((self: This) => Locker) | undefined
  /**
   * What a client is told when somebody holds the lock until the wait is over, or a function that returns it, given the
   * `this` and the arguments of the call; default: only that the lock is held.
   */
  readonly failureMessage?: LockedOptions<This, M>['failureMessage']
  /** What happens to a call when somebody holds the lock until the wait is over; default 409. */
  readonly onContended?: OnContended<M> | undefined
  /**
   * Called when a call gives up on the lock while an earlier call of this method, in this process and for the same key,
   * still runs: a scheduled job has outlasted its interval. Default: with `onContended: 'skip'`, a warning is logged;
   * otherwise nothing is.
   */
  readonly onOverrun?: LockedOptions<This, M>['onOverrun']
  /**
   * Keeps the lock taken for at least this long after it was acquired: for jobs that several instances fire at about
   * the same time. Make it longer than their timers may be apart, and shorter than the time between two runs.
   */
  readonly holdAtLeast?: Duration | undefined
}

/** A method decorator, as `experimentalDecorators` defines it. */
export type LockDecorator<This extends object, M extends AsyncMethod> = (
  target: This,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void
