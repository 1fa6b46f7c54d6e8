import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import type { TryAcquireOptions } from '../key-locker.ts'
import type { AcquireOptions, CallSettings } from '../options.ts'
import { mostPermits } from './figures.ts'

export interface SemaphoreOptions {
  /** How many permits there are in all, a whole number from 1 to 1,000,000; the same in every process. */
  readonly permits: number
}

/**
 * The options of an acquire, and how many permits it takes. Permits are always queued for; `queue` is `fifo()` by
 * default.
 */
export interface PermitOptions extends AcquireOptions {
  /** How many permits to take, all of them or none; default 1. */
  readonly permits?: number | undefined
}

/** The options of `tryAcquire`, which does not wait. */
export interface TryPermitOptions extends TryAcquireOptions {
  /** How many permits to take, all of them or none; default 1. */
  readonly permits?: number | undefined
}

/** @throws InvalidOptionError unless it is a number of permits that a semaphore can have */
export function checkCapacity(permits: unknown): asserts permits is number {
  const ok = Number.isSafeInteger(permits) && (permits as number) >= 1 && (permits as number) <= mostPermits
  demandOption(ok, 'permits', 'a whole number from 1 to 1,000,000')
}

/** @throws InvalidOptionError naming the first option that is unknown or bad */
export function capacityOf(options: SemaphoreOptions): number {
  demandObject(options)
  const { permits, ...rest } = Object(options) as SemaphoreOptions
  refuseUnknown(rest)
  checkCapacity(permits)
  return permits
}

/**
 * Splits the options of a call.
 *
 * @throws InvalidOptionError for a number of permits that the semaphore does not have
 */
export function takeOf<O extends TryPermitOptions>(
  options: O | undefined,
  capacity: number,
): { readonly permits: number; readonly rest: Omit<O, 'permits'> } {
  demandObject(options)
  const { permits = 1, ...rest } = (options ?? {}) as O
  const ok = Number.isSafeInteger(permits) && permits >= 1 && permits <= capacity
  demandOption(ok, 'permits', `a whole number from 1 to ${capacity}, the permits of the semaphore`)
  return { permits, rest }
}

/**
 * The settings of calls that take permits.
 *
 * @throws InvalidOptionError, at the call, for a watchdog, even one in the locker's defaults
 */
export const permitSettings =
  (settings: CallSettings): CallSettings =>
  (options) => {
    const its = settings(options)
    demandOption(typeof its.renew === 'boolean', 'renew', 'true or false: a watchdog renews locks for one holder only')
    return its
  }
