import type { Subscription } from '@leasehold/core'

/** What a listener needs of the connection that it listens by. */
export interface Hearing {
  isLive(): boolean
  /** The bridge watches the present holder; by default it does while it is live. */
  checks?(): boolean
  /** Somebody waits for the next signal. */
  awaited?(): void
  closed(): void
}

/** A subscription, and what its connection does to it. */
export interface Listener extends Subscription {
  /** Settles `ready`. */
  letGo(): void
  /** One more signal; whoever waits is called back, once. */
  signal(): void
}

export function listenerOf(hearing: Hearing): Listener {
  const waiting = new Set<() => void>()
  let signals = 0
  let open = true
  let letGo!: () => void
  const ready = new Promise<void>((resolve) => {
    letGo = resolve
  })
  return {
    ready,
    letGo,
    get live() {
      return open && hearing.isLive()
    },
    get checks() {
      return hearing.checks?.()
    },
    get signals() {
      return signals
    },
    signal() {
      signals++
      const called = [...waiting]
      waiting.clear()
      for (const callback of called) callback()
    },
    onSignal(seen, callback) {
      // Its own function, so that the same callback may wait twice and each be withdrawn alone.
      const waits = (): void => callback()
      if (signals > seen) waits()
      else {
        waiting.add(waits)
        hearing.awaited?.()
      }
      return () => waiting.delete(waits)
    },
    // The bridge checks the holder by itself; one that hears nothing is noticed by its heartbeats.
    suspect: () => undefined,
    close() {
      if (!open) return
      open = false
      waiting.clear()
      hearing.closed()
    },
  }
}
