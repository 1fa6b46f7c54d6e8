import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Milliseconds on a clock that every process of one machine reads alike: hand-offs between processes are measured on it.
 * `performance.now()` begins anew in each process, and the instant it began is known by the wall clock only.
 */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** Resolves at that instant of `nowMs`, or a little later: timers keep whole milliseconds. */
export async function until(atMs: number): Promise<void> {
  const restMs = atMs - nowMs()
  if (restMs > 0) await sleep(restMs)
}
