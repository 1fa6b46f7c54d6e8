import {
  answered,
  type Fate,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  type StoreCallName,
} from '@leasehold/testkit'
import { between, pick, type Random } from './weighted.ts'

/** What may go wrong in a run. */
export interface Weather {
  /** The longest round trip, in milliseconds. */
  readonly roundTripMs: number
  /**
   * The share of requests that are lost, or whose reply is lost, or that are carried out long after they were given up.
   */
  readonly lost: number
  /** Operators take locks away, from holders of other processes. */
  readonly revocations: boolean
  /** Holders die, and their leases expire. */
  readonly deaths: boolean
}

/** Decides the fate of each call of that name. Renewals are always answered, at worst late. */
export const fateIn =
  ({ roundTripMs, lost }: Weather, random: Random, name: StoreCallName): Fate =>
  (sending) => {
    const delayMs = (0.8 + random() / 5) * roundTripMs
    const fate =
      random() < lost && name !== 'renew'
        ? pick<Fate>(random, [
            [2, replyLost],
            [2, requestLost],
            [1, requestAfter(between(random, 100, 3_000))],
            [1, replyAfter(between(random, 100, 3_000))],
          ])
        : roundTripMs === 0
          ? answered
          : pick<Fate>(random, [
              [1, replyAfter(delayMs)],
              [1, requestAfter(delayMs)],
            ])
    return fate(sending)
  }
