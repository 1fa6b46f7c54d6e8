import { median } from '../measure/statistics.ts'
import type { Measured } from '../rounds.ts'

/** The median of a figure over the rounds that have it. */
export function medianOf(measured: readonly Measured[], figure: string): number {
  return median(measured.flatMap(({ figures }) => figures[figure] ?? []))
}
