import { demandOption } from '../errors.ts'
import { doublingMs, jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { expirySpreadMs, leastExtensionMs } from './figures.ts'
import type { Contention, WaitPlan } from './release-notifier.ts'

/**
 * The pause that the strategy asks for, in milliseconds.
 *
 * @throws InvalidOptionError for a negative or endless pause
 */
export function restMs({ strategy }: WaitPlan, tries: number, jitter: number): number {
  const delayMs = strategy.delayMs(tries, jitter)
  demandOption(delayMs >= 0 && delayMs < Infinity, 'strategy', 'one whose delayMs is 0 or more')
  return delayMs
}

/** The same pause, for use by other calls: a strategy that throws must fail only its own call. */
export function restHintMs(plan: WaitPlan, tries: number, jitter: number, otherwiseMs: number): number {
  try {
    return restMs(plan, tries, jitter)
  } catch {
    return otherwiseMs
  }
}

/** The part of a notifier that says how long to rely on it. */
interface Relied {
  readonly recheckMs: number
}

/** With this many contended tries and this much jitter, a strategy's pause is as long as it gets. */
const mostPatient = { tries: 30, jitter: 0.9999 }

/** How long a waiter may go without checking the store, in milliseconds. */
export const patienceMs = (plan: WaitPlan, notifier: Relied | undefined): number =>
  notifier ? recheckMs(plan, notifier) : restHintMs(plan, mostPatient.tries, mostPatient.jitter, Infinity)

/** How long a waiter relies on its notifier, in milliseconds. */
export const recheckMs = (plan: WaitPlan, notifier: Relied): number => plan.recheckMs ?? notifier.recheckMs

/** A summary of a waiter's contended tries. */
export interface Tally {
  /** How many tries there were. */
  readonly tries: number
  /** Whether the last two found the same holder. */
  readonly sameHolder: boolean
  /** How many times in a row the holder's expiry was due and the lock was still not free. */
  readonly vainExpiries: number
}

/** Counts a waiter's contended tries. */
export function contentionCount(clock: Clock): (contention: Contention) => Tally {
  let tries = 0
  let vainExpiries = 0
  let last: string | undefined
  let expiresAtMs = Infinity
  return ({ cursor, expiresInMs }) => {
    const nowMs = clock.monotonicMs()
    const leftMs = expiresInMs ?? Infinity
    const sameHolder = cursor === last
    const vain = sameHolder && nowMs >= expiresAtMs && leftMs < leastExtensionMs
    vainExpiries = vain ? vainExpiries + 1 : 0
    last = cursor
    expiresAtMs = nowMs + leftMs
    return { tries: ++tries, sameHolder, vainExpiries }
  }
}

/**
 * How long to pause before an unprompted check, in milliseconds: `restMs`, or until the holder's expiry if that is
 * sooner. The latter has a floor, which grows only while expiries free nothing. Otherwise a waiter would spin where the
 * expiry never frees the lock.
 */
export function checkMs(contention: Contention, restMs: number, { vainExpiries }: Tally): number {
  return Math.min(restMs, Math.max(untilExpiryMs(contention), floorMs(vainExpiries, restMs)))
}

/** Time until the holder's expiry has certainly passed, in milliseconds, with jitter; `Infinity` without an expiry. */
export const untilExpiryMs = ({ expiresInMs }: Contention): number =>
  expiresInMs === null ? Infinity : expiresInMs + 1 + jitter() * expirySpreadMs

/** The shortest pause after `times` vain tries, in milliseconds: 0, then 10 doubling up to `mostMs` or 1,000. */
export const floorMs = (times: number, mostMs: number): number =>
  times === 0 ? 0 : doublingMs(5, Math.min(1_000, mostMs), times)
