/** How long something took, of several tries, in milliseconds. */
export interface Timing {
  readonly medianMs: number
  readonly maxMs: number
  readonly rounds: number
}

/** Null if nothing was timed. */
export function timing(tookMs: readonly number[]): Timing | null {
  if (tookMs.length === 0) return null
  const sorted = tookMs.slice().sort((one, other) => one - other)
  const rounded = (ms: number | undefined): number => Math.round((ms ?? 0) * 1_000) / 1_000
  return {
    medianMs: rounded(sorted[Math.floor((sorted.length - 1) / 2)]),
    maxMs: rounded(sorted.at(-1)),
    rounds: sorted.length,
  }
}
