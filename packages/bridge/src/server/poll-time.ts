import { withJitterInSteps } from '../http/jitter.ts'

/** A poll of this length or more, in milliseconds, may end a little early. */
const jitterFromMs = 10_000
/** The share of such a poll's time that is random. */
const jitterShare = 0.1
const stepMs = 100

/**
 * How long a poll waits at most, in milliseconds. Long polls get jitter: clients ask again at once, so polls that once
 * ended together, as after a restart of the bridge, would come back together forever.
 *
 * @param random from 0 to 1; drawn for each call by default
 */
export function pollTimeMs(timeoutMs: number, random?: number): number {
  if (timeoutMs < jitterFromMs) return timeoutMs
  return withJitterInSteps(timeoutMs, jitterShare, stepMs, random)
}
