import { jitter } from '@leasehold/core/adapter'

/**
 * Shortens a time by a random part of it, at most `share`, so that what began together does not come back together
 * forever.
 *
 * @param random from 0 to 1
 */
export const withJitter = (ms: number, share: number, random: number = jitter()): number => ms * (1 - random * share)

/**
 * The same, rounded up to steps. Runtimes group timers of the same length, so a few lengths cost less than thousands.
 */
export const withJitterInSteps = (ms: number, share: number, stepMs: number, random?: number): number =>
  Math.min(ms, Math.ceil(withJitter(ms, share, random) / stepMs) * stepMs)
