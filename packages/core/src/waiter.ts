import { demandOption } from './errors.ts'
import { expirySpreadMs, leastExtensionMs } from './figures.ts'
import type { ReleaseNotifier } from './release-notifier.ts'
import { doublingMs, jitter, type WaitStrategy } from './timing/backoff.ts'
import type { Clock } from './timing/clock.ts'

/** One acquire between its tries: how long it pauses, and what may end the pause sooner. */
export interface Waiter {
  /**
   * Pauses after a refusal, until another try is worth it or no time is left.
   *
   * @throws the signal's own reason when it is aborted.
   */
  pause(refusal: Refusal, leftMs: () => number, signal: AbortSignal): Promise<void>
  /** Ends the present pause, or the next: somebody in this process knows that a try is worth it. */
  wake(): void
  /** The last try was granted: the lock has changed hands. */
  granted?(): void
  /** Nothing of this waiter remains. */
  close(): void
}

/** What a refused try tells the waiter. */
export interface Refusal {
  readonly cursor: string
  readonly expiresInMs: number | null
}

/** What an acquire tells its waiter. */
export interface WaitPlan {
  readonly key: string
  readonly strategy: WaitStrategy
  /** How long to rely on the notifier; undefined for as long as that says. */
  readonly recheckMs: number | undefined
}

/** What the strategy says. @throws InvalidOptionError for a time that nobody can wait for */
export function restMs({ strategy }: WaitPlan, refusals: number, jitter: number): number {
  const delayMs = strategy.delayMs(refusals, jitter)
  demandOption(delayMs >= 0 && delayMs < Infinity, 'strategy', 'one whose delayMs is 0 or more')
  return delayMs
}

/** About what it says, for others than its own caller, who must not suffer from a strategy that fails. */
export function restHintMs(plan: WaitPlan, refusals: number, jitter: number, otherwiseMs: number): number {
  try {
    return restMs(plan, refusals, jitter)
  } catch {
    return otherwiseMs
  }
}

/** By so many refusals, and with so much jitter, a strategy is as patient as it gets. */
const mostPatient = { refusals: 30, jitter: 0.9999 }

/** How long a waiter may go without looking at the store, in milliseconds. */
export const patienceMs = (plan: WaitPlan, notifier: ReleaseNotifier | undefined): number =>
  notifier ? recheckMs(plan, notifier) : restHintMs(plan, mostPatient.refusals, mostPatient.jitter, Infinity)

/** How long a waiter relies on its notifier, in milliseconds. */
export const recheckMs = (plan: WaitPlan, notifier: ReleaseNotifier): number => plan.recheckMs ?? notifier.recheckMs

/** What a waiter's refusals come to. */
export interface Tally {
  /** All of them. */
  readonly refusals: number
  /** The last came from the same holder as the one before. */
  readonly sameHolder: boolean
  /** How often in a row the holder's announced time was over and that freed nothing. */
  readonly vainExpiries: number
}

/** Counts a waiter's refusals. */
export function refusalCount(clock: Clock): (refusal: Refusal) => Tally {
  let refusals = 0
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
    return { refusals: ++refusals, sameHolder, vainExpiries }
  }
}

/**
 * When to check without having been told: after `restMs`, or when the holder's time ends. Not to spin where that never frees
 * the lock, the latter is subject to a floor, which grows only while the holder's time ends in vain.
 */
export function checkMs(refusal: Refusal, restMs: number, { vainExpiries }: Tally): number {
  return Math.min(restMs, Math.max(untilExpiryMs(refusal), floorMs(vainExpiries, restMs)))
}

/** Until the holder's time has ended for certain, with jitter; `Infinity` for a holder without expiry. */
export const untilExpiryMs = ({ expiresInMs }: Refusal): number =>
  expiresInMs === null ? Infinity : expiresInMs + 1 + jitter() * expirySpreadMs

/** The least distance between two tries that went in vain: 0, then 10 ms doubling up to `mostMs` or a second. */
export const floorMs = (times: number, mostMs: number): number =>
  times === 0 ? 0 : doublingMs(5, Math.min(1_000, mostMs), times)
