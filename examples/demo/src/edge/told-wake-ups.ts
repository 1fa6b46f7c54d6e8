import type { ReleaseNotifier } from '@leasehold/core/adapter'

/**
 * A notifier that tells of every wake-up, with its key: each pause of a waiter that ends because there was news.
 * Those that end by a timer are not told.
 */
export function toldWakeUps(notifier: ReleaseNotifier, onWakeUp: (key: string) => void): ReleaseNotifier {
  return {
    // Its `waiter` asks whatever it is a method of for subscriptions, so this one for these.
    ...notifier,
    subscribe(key, cursor) {
      const subscription = notifier.subscribe(key, cursor)
      return {
        ready: subscription.ready,
        get live() {
          return subscription.live
        },
        get checks() {
          return subscription.checks
        },
        get signals() {
          return subscription.signals
        },
        onSignal: (seen, callback) =>
          subscription.onSignal(seen, () => {
            onWakeUp(key)
            callback()
          }),
        suspect: (cursor) => subscription.suspect(cursor),
        close: () => subscription.close(),
      }
    },
  }
}
