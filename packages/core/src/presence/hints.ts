import type { ReleaseNotifier } from '../waiting/release-notifier.ts'

/**
 * Calls `listener` when the notifier signals a change in a room, and once when it has begun to listen. A notifier that
 * checks by itself is not used: it compares locks, and knows nothing about rooms. Returns a function that stops
 * listening.
 */
export function onHint(notifier: ReleaseNotifier | undefined, room: string, listener: () => void): () => void {
  if (!notifier || notifier.checks) return () => undefined
  const subscription = notifier.subscribe(room, '-')
  let isOver = false
  let withdraw: (() => void) | undefined
  const listen = (): void => {
    withdraw = subscription.onSignal(subscription.signals, () => {
      if (isOver) return
      listen()
      listener()
    })
  }
  listen()
  void subscription.ready.then(() => isOver || listener())
  return () => {
    isOver = true
    withdraw?.()
    subscription.close()
  }
}
