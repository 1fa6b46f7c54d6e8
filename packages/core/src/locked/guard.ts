import { AcquireTimeoutError, demandObject, demandOption } from '../errors.ts'
import { type AcquireOptions, checkAcquireOptions } from '../options.ts'
import { systemClock } from '../timing/clock.ts'
import { LockContendedError } from './lock-contended-error.ts'
import type { Lockable, LockCalls, LockedOptions } from './locked-options.ts'

/**
 * Makes the guarded function that callers get: it calls `fn` under the lock, with the call's `this` and arguments.
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function guarded<This, F extends Lockable>(
  fn: F,
  options: LockedOptions<This, F>,
): (this: This, ...args: Parameters<F>) => Promise<Awaited<ReturnType<F>>> {
  const { locks, key, failureMessage, onContended, onOverrun, signal, acquire } = checked(options)
  /** When the run of each key began that has not ended. */
  const runs = new Map<string, number>()
  const wrapper = async function (this: This, ...args: Parameters<F>): Promise<Awaited<ReturnType<F>>> {
    type ForCall<T> = (this: This, ...args: Parameters<F>) => T
    const of = <T>(value: T | ForCall<T>): T =>
      typeof value === 'function' ? (value as ForCall<T>).apply(this, args) : value
    const calls = typeof locks === 'function' ? locks(this) : locks
    demandCalls(calls)
    const lockKey = of(key)
    let began: number | undefined
    try {
      return await calls.withLock(lockKey, { ...acquire, signal: of(signal) }, async () => {
        began = systemClock.monotonicMs()
        runs.set(lockKey, began)
        try {
          return await Reflect.apply(fn, this, args)
        } finally {
          // If this run lost its lease, the next one may have begun.
          if (runs.get(lockKey) === began) runs.delete(lockKey)
        }
      })
    } catch (error) {
      // If `fn` itself could not acquire a lock, that is an error of its own.
      if (began !== undefined || !(error instanceof AcquireTimeoutError)) throw error
      const since = runs.get(lockKey)
      if (since !== undefined) {
        onOverrun?.({ key: lockKey, runningMs: Math.round(systemClock.monotonicMs() - since) })
      }
      const contended = new LockContendedError(of(failureMessage) ?? error.message, error)
      if (!onContended) throw contended
      return onContended(contended)
    }
  }
  const { name, length } = fn
  return Object.defineProperties(wrapper, {
    name: { value: name, configurable: true },
    length: { value: length, configurable: true },
  })
}

function checked<This, F extends Lockable>(options: LockedOptions<This, F>) {
  demandObject(options)
  const { locks, key, failureMessage, onContended, onOverrun, signal, ...acquire } = options
  const isFunction = (value: unknown): boolean => typeof value === 'function'
  const isTextOr = (value: unknown): boolean => typeof value === 'string' || isFunction(value)
  if (!isFunction(locks)) demandCalls(locks)
  demandOption(isTextOr(key), 'key', 'text, or a function of the arguments')
  demandOption(failureMessage === undefined || isTextOr(failureMessage), 'failureMessage', 'text, or a function')
  demandOption(onContended === undefined || isFunction(onContended), 'onContended', 'a function')
  demandOption(onOverrun === undefined || isFunction(onOverrun), 'onOverrun', 'a function')
  demandOption(signal === undefined || signal instanceof AbortSignal || isFunction(signal), 'signal', 'an AbortSignal')
  checkAcquireOptions(acquire)
  return { ...options, acquire: acquire as AcquireOptions }
}

function demandCalls(locks: unknown): asserts locks is LockCalls {
  demandOption(typeof Object(locks).withLock === 'function', 'locks', 'a locker, or a function that returns one')
}
