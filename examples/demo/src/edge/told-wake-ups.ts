import type { ReleaseNotifier } from '@leasehold/core/adapter'

/**
 * A notifier that reports every wake-up, with its key: each pause of a waiter that a notification ends. It does not
 * report pauses that a timer ends.
 */
export function toldWakeUps(notifier: ReleaseNotifier, onWakeUp: (key: string) => void): ReleaseNotifier {
  return {
    // `waiter` subscribes through `this`, so it uses the subscriptions below.
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
