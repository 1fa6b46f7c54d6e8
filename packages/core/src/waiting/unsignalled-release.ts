import type { Clock } from '../timing/clock.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import type { Contention, Subscription } from './release-notifier.ts'

/** A waiter's last contended try: who held the lock, and how many signals there had been just before the try. */
interface Held {
  readonly cursor: string
  readonly expiresInMs: number
  readonly triedAt: Instant
  readonly signals: number
}

/** The cursor of a foreign holder, whose library announces nothing. */
const foreign = '-'

/**
 * Notices a release that was not signaled: the former holder no longer has the lock although it had time left, and the
 * subscription was live throughout.
 */
export function unsignalledReleases(clock: Clock): {
  /** Call it just before a try. */
  trying(subscription: Subscription): void
  /** Call it after a try that was contended or, without a contention, granted. */
  answered(subscription: Subscription, contention?: Contention): void
} {
  let tried: Pick<Held, 'triedAt' | 'signals'> | undefined
  let held: Held | undefined
  return {
    trying({ live, signals }) {
      tried = live ? { triedAt: instant(clock), signals } : undefined
    },
    answered(subscription, contention) {
      const isNews = held && held.cursor !== foreign && held.cursor !== contention?.cursor
      if (isNews && subscription.signals === held?.signals) {
        // Counted from before the try, so that a possible expiry is not taken for a release.
        if (elapsedMs(instant(clock), held.triedAt) < held.expiresInMs) subscription.suspect(held.cursor)
      }
      held = contention && tried && { ...tried, cursor: contention.cursor, expiresInMs: contention.expiresInMs ?? 0 }
    },
  }
}
