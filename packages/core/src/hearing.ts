import type { Subscription } from './release-notifier.ts'
import type { Clock } from './timing/clock.ts'
import { elapsedMs, type Instant, instant } from './timing/validity.ts'
import type { Refusal } from './waiter.ts'

/** What is known of a waiter's last refusal: who held the lock, and what had been heard just before the try. */
interface Held {
  readonly cursor: string
  readonly expiresInMs: number
  readonly triedAt: Instant
  readonly signals: number
}

/** The cursor of a holder of another library, which announces nothing. */
const foreign = '-'

/**
 * Notices a release that was not signalled: the lock has another holder or none, the former one still had time, and releases
 * were heard throughout.
 */
export function hearing(clock: Clock): {
  /** Just before a try. */
  trying(subscription: Subscription): void
  /** The try was refused, or (without a refusal) granted. */
  answered(subscription: Subscription, refusal?: Refusal): void
} {
  let tried: Pick<Held, 'triedAt' | 'signals'> | undefined
  let held: Held | undefined
  return {
    trying({ live, signals }) {
      tried = live ? { triedAt: instant(clock), signals } : undefined
    },
    answered(subscription, refusal) {
      const isNews = held && held.cursor !== foreign && held.cursor !== refusal?.cursor
      if (isNews && subscription.signals === held?.signals) {
        // Counted from before the try, so that what may have been an expiry is not taken for a release.
        if (elapsedMs(instant(clock), held.triedAt) < held.expiresInMs) subscription.suspect(held.cursor)
      }
      held = refusal && tried && { ...tried, cursor: refusal.cursor, expiresInMs: refusal.expiresInMs ?? 0 }
    },
  }
}
