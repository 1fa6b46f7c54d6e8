import { sharesBetweenCalls } from '#sharing'
import { demandOption } from '../errors.ts'
import { type OpenInbox, offerInbox } from '../waiting/inbox.ts'
import { notifiedWaiter } from '../waiting/notified-waiter.ts'
import type { ReleaseNotifier, Subscription } from '../waiting/release-notifier.ts'
import { SignalCount } from '../waiting/signal-count.ts'
import type { MemoryStore } from './memory-store.ts'

/** How long a waiter relies on notifications, in milliseconds. None gets lost, but every wait has a timer anyway. */
const recheckMs = 1_000

/**
 * Makes a notifier that wakes the waiters of one memory store. A subscription listens from `subscribe` on, so it is
 * live at once.
 *
 * Where calls share nothing (Workers) it hears nothing, and waiters check by themselves: waking the waiter of one
 * request from within another would hang it.
 */
export function memoryNotifier(store: Pick<MemoryStore, 'listen' | 'listenInbox'>): ReleaseNotifier {
  demandOption(typeof store?.listen === 'function', 'store', 'the memory store of the locker')
  const open = new Set<{ close(): void }>()
  let closed = false
  const notifier: ReleaseNotifier = {
    checks: false,
    recheckMs,
    subscribe(key) {
      const subscription = new MemorySubscription((it) => open.delete(it))
      if (!closed && sharesBetweenCalls()) {
        open.add(subscription)
        subscription.hear(store, key)
      }
      return subscription
    },
    waiter(clock, plan) {
      return notifiedWaiter(this, clock, plan)
    },
    // Nothing between the store and the subscriber can fail.
    onStateChange: () => () => undefined,
    async close() {
      closed = true
      for (const subscription of open) subscription.close()
    },
  }
  return offerInbox(notifier, {
    open(name, listener) {
      const stop = closed ? undefined : store.listenInbox(name, listener)
      const inbox: OpenInbox = {
        ready: Promise.resolve(),
        get live() {
          return open.has(inbox)
        },
        close() {
          stop?.()
          open.delete(inbox)
        },
      }
      if (stop) open.add(inbox)
      return inbox
    },
  })
}

class MemorySubscription implements Subscription {
  readonly ready: Promise<void> = Promise.resolve()
  readonly #count = new SignalCount()
  readonly #onClose: (subscription: MemorySubscription) => void
  #stop: (() => void) | undefined

  constructor(onClose: (subscription: MemorySubscription) => void) {
    this.#onClose = onClose
  }

  get live(): boolean {
    return this.#stop !== undefined
  }

  get signals(): number {
    return this.#count.signals
  }

  /** Starts listening. Any payload is a reason to check. */
  hear(store: Pick<MemoryStore, 'listen'>, key: string): void {
    this.#stop = store.listen(key, () => this.#count.add())
  }

  onSignal(seen: number, callback: () => void): () => void {
    return this.#count.onSignal(seen, callback)
  }

  suspect(): void {
    // No message gets lost on the way here: the lock changed hands by expiry, or was revoked.
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#count.forget()
    this.#onClose(this)
  }
}
