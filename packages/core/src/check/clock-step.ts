import type { Finding } from '../store/finding.ts'
import { finding } from './catalogue.ts'

/** A reading of the store's clock, and of this process's clock at that moment, in milliseconds. */
export interface ClockReading {
  readonly storeMs: number
  readonly localMs: number
  /** How far off the reading may be, in milliseconds: the time that the answer took. */
  readonly withinMs: number
}

/** Two sound clocks drift apart by at most this fraction of the time between two readings. */
const mostDrift = 1 / 1_000
/** A step of less than this many milliseconds matters to no ttl. */
const leastStepMs = 250

/** How far the store's clock was set since the first reading, in milliseconds; negative if set back, 0 if not set. */
function clockStepMs(first: ClockReading, last: ClockReading): number {
  const passedMs = last.localMs - first.localMs
  const stepMs = last.storeMs - first.storeMs - passedMs
  const doubtMs = first.withinMs + last.withinMs + passedMs * mostDrift + leastStepMs
  return Math.abs(stepMs) > doubtMs ? Math.round(stepMs) : 0
}

export function clockFindings(first: ClockReading | undefined, last: ClockReading | undefined): readonly Finding[] {
  const stepMs = first && last ? clockStepMs(first, last) : 0
  if (stepMs === 0) return []
  const seconds = `${(Math.abs(stepMs) / 1_000).toFixed(1)} s`
  const message =
    stepMs < 0
      ? `The server's clock was set back by ${seconds} since the last check: locks that were held then are kept for so much longer`
      : `The server's clock was set forward by ${seconds} since the last check, or this machine slept: locks that were held then ended so much sooner`
  return [finding('CLOCK_STEP', message)]
}
