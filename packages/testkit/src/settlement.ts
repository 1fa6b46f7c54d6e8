import type { Clock } from '@leasehold/core'

/** The state of a promise so far. */
export interface Settlement<T> {
  readonly state: 'pending' | 'fulfilled' | 'rejected'
  readonly value?: T
  readonly reason?: unknown
  /** When it settled, by the monotonic clock. */
  readonly atMs?: number
}

/** Follows a promise while a test moves the clock. Its rejection counts as handled. */
export function follow<T>(promise: Promise<T>, clock: Clock): Settlement<T> {
  const settlement: { -readonly [P in keyof Settlement<T>]: Settlement<T>[P] } = { state: 'pending' }
  promise.then(
    (value) => Object.assign(settlement, { state: 'fulfilled', value, atMs: clock.monotonicMs() }),
    (reason: unknown) => Object.assign(settlement, { state: 'rejected', reason, atMs: clock.monotonicMs() }),
  )
  return settlement
}
