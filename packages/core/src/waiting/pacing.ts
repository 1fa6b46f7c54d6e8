import { demandOption } from '../errors.ts'
import { doublingMs, jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { expirySpreadMs, leastExtensionMs } from './figures.ts'
import type { Contention, WaitPlan } from './release-notifier.ts'

/** What the strategy says. @throws InvalidOptionError for a time that nobody can wait for */
export function restMs({ strategy }: WaitPlan, tries: number, jitter: number): number {
  const delayMs = strategy.delayMs(tries, jitter)
  demandOption(delayMs >= 0 && delayMs < Infinity, 'strategy', 'one whose delayMs is 0 or more')
  return delayMs
}

/** About what it says, for others than its own caller, who must not suffer from a strategy that fails. */
export function restHintMs(plan: WaitPlan, tries: number, jitter: number, otherwiseMs: number): number {
  try {
    return restMs(plan, tries, jitter)
  } catch {
    return otherwiseMs
  }
}

/** What says how long it may be relied on: a notifier. */
interface Relied {
  readonly recheckMs: number
}

/** After so many contended tries, and with so much jitter, a strategy is as patient as it gets. */
const mostPatient = { tries: 30, jitter: 0.9999 }

/** How long a waiter may go without checking the store, in milliseconds. */
export const patienceMs = (plan: WaitPlan, notifier: Relied | undefined): number =>
  notifier ? recheckMs(plan, notifier) : restHintMs(plan, mostPatient.tries, mostPatient.jitter, Infinity)

/** How long a waiter relies on its notifier, in milliseconds. */
export const recheckMs = (plan: WaitPlan, notifier: Relied): number => plan.recheckMs ?? notifier.recheckMs

/** What a waiter's contended tries come to. */
export interface Tally {
  /** All of them. */
  readonly tries: number
  /** The last came from the same holder as the one before. */
  readonly sameHolder: boolean
  /** How often in a row the holder's announced time was over and that freed nothing. */
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
 * When to check without having been told: after `restMs`, or when the holder's time ends. Not to spin where that never frees
 * the lock, the latter is subject to a floor, which grows only while the holder's time ends in vain.
 */
export function checkMs(contention: Contention, restMs: number, { vainExpiries }: Tally): number {
  return Math.min(restMs, Math.max(untilExpiryMs(contention), floorMs(vainExpiries, restMs)))
}

/** Until the holder's time has ended for certain, with jitter; `Infinity` for a holder without expiry. */
export const untilExpiryMs = ({ expiresInMs }: Contention): number =>
  expiresInMs === null ? Infinity : expiresInMs + 1 + jitter() * expirySpreadMs

/** The least distance between two tries that went in vain: 0, then 10 ms doubling up to `mostMs` or a second. */
export const floorMs = (times: number, mostMs: number): number =>
  times === 0 ? 0 : doublingMs(5, Math.min(1_000, mostMs), times)
