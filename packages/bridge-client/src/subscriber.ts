import { SignalCount, type Subscription } from '@leasehold/core/adapter'

/** What a subscriber needs from its connection. */
export interface Hearing {
  isLive(): boolean
  /** The bridge watches the present holder. Default: it does whenever the connection is live. */
  checks?(): boolean
  /** Somebody waits for the next signal. */
  awaited?(): void
  closed(): void
}

/** A subscription, and what its connection does to it. */
export interface Subscriber extends Subscription {
  /** Settles `ready`. */
  settle(): void
  /** Adds a signal, and calls back whoever waits, once. */
  signal(): void
}

export function subscriberOf(hearing: Hearing): Subscriber {
  const count = new SignalCount()
  let open = true
  let settle!: () => void
  const ready = new Promise<void>((resolve) => {
    settle = resolve
  })
  return {
    ready,
    settle,
    get live() {
      return open && hearing.isLive()
    },
    get checks() {
      return hearing.checks?.()
    },
    get signals() {
      return count.signals
    },
    signal: () => count.add(),
    onSignal(seen, callback) {
      const withdraw = count.onSignal(seen, callback)
      if (count.signals <= seen) hearing.awaited?.()
      return withdraw
    },
    // Nothing to do: the bridge checks the holder itself, and its heartbeats show whether it is heard.
    suspect: () => undefined,
    close() {
      if (!open) return
      open = false
      count.forget()
      hearing.closed()
    },
  }
}
