import { median, percentile, sum } from './statistics.ts'

/** One waiter that was served, in milliseconds of `nowMs`. */
export interface Served {
  readonly arrivedAt: number
  readonly acquiredAt: number
  /** When the waiter called release. */
  readonly releasedAt: number
  /** When the release was done. */
  readonly doneAt: number
  readonly fence: number | null
}

export interface HandOffFigures {
  /** From one holder's release to the next holder, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** From the first release until the last waiter had released, in milliseconds. */
  readonly drain: number
  /** `drain` divided by the time for which the waiters held the lock. */
  readonly drainOfHolds: number
  /** How many later arrivals were served before the most overtaken waiter. */
  readonly displacement: number
  /** How often a waiter had the lock before the previous holder called release: a broken lock. */
  readonly overlaps: number
}

/** @param first the release of the holder that all of them waited for */
export function handOffFigures(first: Pick<Served, 'releasedAt'>, served: readonly Served[]): HandOffFigures {
  const inTurn = served.toSorted((a, b) => a.acquiredAt - b.acquiredAt)
  const releases = [first, ...inTurn]
  const latencies = inTurn.map(({ acquiredAt }, turn) => acquiredAt - (releases[turn]?.releasedAt ?? Number.NaN))
  const drain = Math.max(...inTurn.map(({ doneAt }) => doneAt)) - first.releasedAt
  return {
    p50: median(latencies),
    p99: percentile(latencies, 0.99),
    drain,
    drainOfHolds: drain / sum(inTurn.map(({ acquiredAt, releasedAt }) => releasedAt - acquiredAt)),
    displacement: displacement(inTurn),
    overlaps: latencies.filter((latency) => latency < 0).length,
  }
}

/** The most places that any waiter lost between its arrival and its turn. */
function displacement(inTurn: readonly Served[]): number {
  const arrivals = inTurn.toSorted((a, b) => a.arrivedAt - b.arrivedAt)
  const places = new Map(arrivals.map((waiter, place) => [waiter, place]))
  return Math.max(0, ...inTurn.map((waiter, turn) => turn - (places.get(waiter) ?? turn)))
}
