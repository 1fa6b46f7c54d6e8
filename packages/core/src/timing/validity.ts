import type { Clock } from './clock.ts'

/** A moment on both clocks. Read it *before* a request is sent, so that nobody overestimates what the answer grants. */
export interface Instant {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** How long a holder may trust its lease: `ttlMs` from `sentAt`, less the drift allowance. */
export interface Validity {
  readonly sentAt: Instant
  readonly ttlMs: number
}

export const instant = (clock: Clock): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() })

/**
 * Milliseconds since `start`, by whichever clock moved further. Neither a frozen monotonic clock nor a wall clock that
 * was set back may make a lease look younger than it is.
 */
export const elapsedMs = (now: Instant, start: Instant): number =>
  Math.max(now.monotonicMs - start.monotonicMs, now.wallMs - start.wallMs)

/** How long somebody has waited, in whole milliseconds. */
export const waitedMs = (clock: Clock, since: Instant): number => Math.round(elapsedMs(instant(clock), since))

/** Allowance for clocks that run at different rates: 1 % of the ttl, plus 2 ms for their resolution. */
export const driftMs = (ttlMs: number): number => ttlMs / 100 + 2

/** What is left of a validity, in milliseconds; negative once it is over. */
export const remainingMs = (now: Instant, { sentAt, ttlMs }: Validity): number =>
  ttlMs - driftMs(ttlMs) - elapsedMs(now, sentAt)
