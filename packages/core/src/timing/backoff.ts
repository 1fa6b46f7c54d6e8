import { demandObject, refuseUnknown } from '../errors.ts'
import { type Duration, parseDuration } from './duration.ts'

/** How a waiter that nobody wakes spaces its tries. */
export interface WaitStrategy {
  /**
   * Returns the milliseconds until the next try. It must be a pure function of its arguments: the locker also calls it
   * to learn how long a pause would be.
   *
   * @param tries   how many times this waiter has found the lock held, from 1
   * @param jitter  a fresh random number, at least 0 and below 1
   */
  delayMs(tries: number, jitter: number): number
}

/**
 * The classic spin lock: on average one try every `every` (default 50 ms). Jitter shifts each try by up to half of that
 * either way, so that waiters do not all poll in lockstep.
 *
 * @throws InvalidOptionError for a bad `every`
 * @example
 * await locks.acquire('report', { strategy: poll({ every: '100ms' }) })
 */
export function poll(options: { readonly every?: Duration | undefined } = {}): WaitStrategy {
  demandObject(options)
  const { every = 50, ...rest } = options
  refuseUnknown(rest)
  const everyMs = parseDuration('every', every)
  return { delayMs: (_, jitter) => everyMs * (0.5 + jitter) }
}

/**
 * The adaptive default: the pause doubles from `from` (10 ms) up to `to` (1 s). Jitter shortens each pause by up to
 * half.
 *
 * @throws InvalidOptionError for a bad `from` or `to`
 */
export function backoff(
  options: { readonly from?: Duration | undefined; readonly to?: Duration | undefined } = {},
): WaitStrategy {
  demandObject(options)
  const { from = 10, to = 1_000, ...rest } = options
  refuseUnknown(rest)
  const fromMs = parseDuration('from', from)
  const toMs = parseDuration('to', to)
  return { delayMs: (tries, jitter) => backoffMs(fromMs, toMs, tries, jitter) }
}

/**
 * The pause after a number of tries, counted from 1. It doubles each time; jitter shortens it by up to half.
 * Source: "equal jitter", M. Brooker, Exponential Backoff and Jitter (AWS Architecture Blog, 2015).
 */
export const backoffMs = (fromMs: number, toMs: number, tries: number, jitter: number): number =>
  doublingMs(fromMs, toMs, tries - 1) * (0.5 + jitter / 2)

/** Doubles with each of `times`, from `fromMs` up to `toMs`. */
export const doublingMs = (fromMs: number, toMs: number, times: number): number => Math.min(toMs, fromMs * 2 ** times)

/** A random number, at least 0 and below 1, that spreads things out. It must be cheap, not secret. */
export const jitter = (): number => Math.random()
