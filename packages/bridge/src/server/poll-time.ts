import { withJitterInSteps } from '../http/jitter.ts'

/** A poll of this length or more, in milliseconds, may end a little early. */
const jitterFromMs = 10_000
/** How much of such a poll's time is random. */
const jitterShare = 0.1
const stepMs = 100

/**
 * How long a poll waits at most. Long polls get jitter: clients ask again at once, so polls that once ended together, as
 * after a restart of the bridge, would come back together for ever.
 *
 * @param random from 0 to 1; by default drawn anew
 */
export function pollTimeMs(timeoutMs: number, random?: number): number {
  if (timeoutMs < jitterFromMs) return timeoutMs
  return withJitterInSteps(timeoutMs, jitterShare, stepMs, random)
}
