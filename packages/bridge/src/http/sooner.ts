/**
 * A time, or up to `share` of it less, at random: what began together must not come back together for ever.
 *
 * @param random from 0 to 1
 */
export const sooner = (ms: number, share: number, random: number = Math.random()): number => ms * (1 - random * share)

/** The same in steps: runtimes keep timers of the same length together, so a few lengths cost less than thousands. */
export const soonerInSteps = (ms: number, share: number, stepMs: number, random?: number): number =>
  Math.min(ms, Math.ceil(sooner(ms, share, random) / stepMs) * stepMs)
