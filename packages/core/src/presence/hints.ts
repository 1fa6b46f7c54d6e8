import type { ReleaseNotifier } from '../waiting/release-notifier.ts'

/**
 * Calls back when the notifier signals a change of a room, and once it has begun to listen. A notifier that checks by itself compares
 * locks, and knows nothing of rooms.
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
