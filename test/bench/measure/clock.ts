import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Milliseconds on a clock that all processes of one machine share: hand-offs between processes are measured on it.
 * `performance.now()` starts over in each process, and its origin is known only by the wall clock.
 */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** Resolves at that instant of `nowMs`, or a little later: timers work in whole milliseconds. */
export async function until(atMs: number): Promise<void> {
  const restMs = atMs - nowMs()
  if (restMs > 0) await sleep(restMs)
}
