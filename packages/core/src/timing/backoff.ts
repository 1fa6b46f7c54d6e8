import { type Duration, parseDuration } from './duration.ts'

/** How a waiter that nobody wakes spaces its tries. */
export interface WaitStrategy {
  /**
   * Milliseconds until the next try. It must depend on nothing else and change nothing: it is also asked how long a pause
   * would be.
   *
   * @param tries  how often this waiter has found the lock held, from 1
   * @param jitter   a fresh random number, at least 0 and below 1
   */
  delayMs(tries: number, jitter: number): number
}

/**
 * The classic spin lock: a try each `every` (default 50 ms) on average, jittered by half of it either way, so that
 * waiters do not all poll on the same beat.
 */
export function poll(options: { readonly every?: Duration | undefined } = {}): WaitStrategy {
  const everyMs = parseDuration('every', options.every ?? 50)
  return { delayMs: (_, jitter) => everyMs * (0.5 + jitter) }
}

/** The adaptive default: the pause doubles from `from` (10 ms) up to `to` (1 s), each time between half and all of it. */
export function backoff(
  options: { readonly from?: Duration | undefined; readonly to?: Duration | undefined } = {},
): WaitStrategy {
  const fromMs = parseDuration('from', options.from ?? 10)
  const toMs = parseDuration('to', options.to ?? 1_000)
  return { delayMs: (tries, jitter) => backoffMs(fromMs, toMs, tries, jitter) }
}

/**
 * The pause after so many tries, from 1: it doubles, and is between half and all of that.
 * Source: "equal jitter", M. Brooker, Exponential Backoff and Jitter (AWS Architecture Blog, 2015).
 */
export const backoffMs = (fromMs: number, toMs: number, tries: number, jitter: number): number =>
  doublingMs(fromMs, toMs, tries - 1) * (0.5 + jitter / 2)

/** Doubles with each of `times`, from `fromMs` up to `toMs`. */
export const doublingMs = (fromMs: number, toMs: number, times: number): number => Math.min(toMs, fromMs * 2 ** times)

/** A random number for spreading things out. It needs to be cheap, not secret. */
export const jitter = (): number => Math.random()
