import { type AcquireOptions, backoff, poll, type WaitStrategy } from '@leasehold/core'
import { between, pick, type Random, type Weighted } from './weighted.ts'

export const hasty: Weighted<WaitStrategy> = [
  [2, poll({ every: 10 })],
  [2, poll()],
  [1, poll({ every: '1s' })],
  [1, backoff()],
  [1, backoff({ to: 200 })],
]

export const patient: Weighted<WaitStrategy> = [
  [1, poll({ every: '4s' })],
  [3, poll({ every: '10s' })],
  [1, backoff({ from: 1_000, to: '10s' })],
]

export const strategies: Weighted<WaitStrategy> = [...hasty, ...patient]

/** The options of a waiting call. With a notifier it has a recheck, without one a strategy. */
export function acquireOptions(
  random: Random,
  { hasNotifier, strategy, roundTripMs }: { hasNotifier: boolean; strategy: WaitStrategy; roundTripMs: number },
): AcquireOptions {
  return {
    ...(!hasNotifier && { strategy }),
    ...(hasNotifier &&
      random() < 0.2 && {
        recheck: pick(random, [
          [1, 100],
          [1, 3_000],
        ]),
      }),
    wait: pick(random, [
      [3, 60_000],
      [1, between(random, 1, 3_000)],
      [2, between(random, 3_000, 30_000)],
    ]),
    ttl: pickTtlMs(random, roundTripMs),
    renew: random() < 0.95,
  }
}

export function pickTtlMs(random: Random, roundTripMs: number): number {
  const longMs = between(random, 3_000, 12_000)
  return pick(random, [
    [3, 10_000],
    [1, longMs],
    [1, Math.max(200, 3 * roundTripMs)],
  ])
}

/** How long a holder keeps the lock. */
export const pickHoldMs = (random: Random): number =>
  pick(random, [
    [2, 0],
    [3, between(random, 1, 300)],
    [1, between(random, 300, 3_000)],
    [1, between(random, 3_000, 20_000)],
  ])
