import { SignalCount, type Subscription } from '@leasehold/core/adapter'

/** What a subscriber needs from its connection. */
export interface Hearing {
  isLive(): boolean
  /** Whether the bridge watches the current holder. Default: it does whenever the connection is live. */
  checks?(): boolean
  /** Called when somebody waits for the next signal. */
  awaited?(): void
  closed(): void
}

/** A subscription, with the methods that its connection calls. */
export interface Subscriber extends Subscription {
  /** Settles `ready`. */
  settle(): void
  /** Adds a signal, and calls each waiting callback once. */
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
    // Nothing to do: the bridge checks the holder itself, and its heartbeats show that the connection is alive.
    suspect: () => undefined,
    close() {
      if (!open) return
      open = false
      count.forget()
      hearing.closed()
    },
  }
}
