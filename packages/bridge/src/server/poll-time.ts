import { soonerInSteps } from '../http/sooner.ts'

/** From so long on, in milliseconds, it does not matter to a client whether a poll ends a little sooner. */
const spreadFromMs = 10_000
/** By how much of its time, at most. */
const spread = 0.1
const stepMs = 100

/**
 * How long a poll waits at most. Long ones end a little sooner than they might, at random: clients ask again at once, so those
 * whose polls once ended together, as after a restart of the bridge, would otherwise come back together for ever.
 *
 * @param random from 0 to 1; by default drawn anew
 */
export function pollTimeMs(timeoutMs: number, random?: number): number {
  if (timeoutMs < spreadFromMs) return timeoutMs
  return soonerInSteps(timeoutMs, spread, stepMs, random)
}
