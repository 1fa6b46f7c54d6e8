import type { Hold } from './orders.ts'

/** What the holds of all processes show together. */
export interface Verdict {
  /** Whether no two held the lock at once, and each fence was higher than the one before. */
  readonly kept: boolean
  readonly holds: number
  /** Holds that began before an earlier one had ended. */
  readonly overlaps: number
  /** The longest overlap, in milliseconds. */
  readonly longestOverlapMs: number
  /** Holds whose fence was not above that of every earlier one. */
  readonly fencesOutOfOrder: number
  readonly lost: number
  readonly waitedMs: { readonly half: number; readonly most: number; readonly longest: number }
}

/** Judges from the record alone. A holder that knows its lease to be lost no longer counts as holding. */
export function verdictOn(holds: readonly Hold[]): Verdict {
  const inOrder = [...holds].sort((one, other) => one.enteredNs - other.enteredNs)
  let [lastLeftNs, highestFence] = [-Infinity, -Infinity]
  let [overlaps, longestNs, fencesOutOfOrder] = [0, 0, 0]
  for (const { enteredNs, leftNs, fence } of inOrder) {
    if (enteredNs < lastLeftNs) {
      overlaps++
      longestNs = Math.max(longestNs, Math.min(lastLeftNs, leftNs) - enteredNs)
    }
    if (fence <= highestFence) fencesOutOfOrder++
    lastLeftNs = Math.max(lastLeftNs, leftNs)
    highestFence = Math.max(highestFence, fence)
  }
  const waits = holds.map(({ waitedMs }) => waitedMs).sort((one, other) => one - other)
  const share = (of: number): number => waits[Math.min(waits.length - 1, Math.floor(of * waits.length))] ?? 0
  return {
    kept: holds.length > 0 && overlaps === 0 && fencesOutOfOrder === 0,
    holds: holds.length,
    overlaps,
    longestOverlapMs: longestNs / 1e6,
    fencesOutOfOrder,
    lost: holds.filter(({ isLost }) => isLost).length,
    waitedMs: { half: share(0.5), most: share(0.99), longest: waits.at(-1) ?? 0 },
  }
}
