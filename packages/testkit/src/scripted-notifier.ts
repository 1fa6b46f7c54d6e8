import type { Clock } from '@leasehold/core'
import {
  type NotifierState,
  notifiedWaiter,
  type ReleaseNotifier,
  type Subscription,
  type Waiter,
  type WaitPlan,
} from '@leasehold/core/adapter'

export interface ScriptedNotifierOptions {
  /** Whether it claims to check by itself; default false. */
  readonly checks?: boolean
  /** Whether a subscription is confirmed as soon as it is made; default true. */
  readonly confirms?: boolean
}

/** A notifier that knows nothing of any lock: it says what a test says, when it says it. */
export class ScriptedNotifier implements ReleaseNotifier {
  readonly checks: boolean
  readonly recheckMs = 1_000
  /** All there ever were, in order. */
  readonly subscriptions: ScriptedSubscription[] = []

  readonly #confirms: boolean
  readonly #listeners: Set<(state: NotifierState) => void> = new Set()

  constructor(options: ScriptedNotifierOptions = {}) {
    this.checks = options.checks ?? false
    this.#confirms = options.confirms ?? true
  }

  subscribe(key: string, cursor: string): ScriptedSubscription {
    const subscription = new ScriptedSubscription(key, cursor)
    this.subscriptions.push(subscription)
    if (this.#confirms) subscription.confirm()
    return subscription
  }

  waiter(clock: Clock, plan: WaitPlan): Waiter {
    return notifiedWaiter(this, clock, plan)
  }

  /** Signals to every subscription. */
  signal(): void {
    for (const subscription of this.subscriptions) subscription.signal()
  }

  onStateChange(listener: (state: NotifierState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Says that it hears no releases. */
  disconnect(cause: unknown): void {
    this.#tell({ type: 'disconnected', cause })
  }

  /** Says that it hears them again. */
  reconnect(): void {
    this.#tell({ type: 'reconnected' })
  }

  #tell(state: NotifierState): void {
    for (const listener of this.#listeners) listener(state)
  }

  async close(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.close()
  }
}

export class ScriptedSubscription implements Subscription {
  /** Whether it claims to watch the present holder; by default as its notifier checks. */
  checks: boolean | undefined
  readonly key: string
  readonly cursor: string
  readonly ready: Promise<void>
  live = false
  signals = 0
  closed = false
  /** The cursor of each holder whose release was not signalled, as whoever waits has said. */
  readonly suspected: string[] = []
  readonly #callbacks: Set<() => void> = new Set()
  #settle: () => void = () => undefined

  constructor(key: string, cursor: string) {
    this.key = key
    this.cursor = cursor
    this.ready = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** How many callbacks it keeps. */
  get kept(): number {
    return this.#callbacks.size
  }

  /** Settles `ready`: releases are being heard from now on, or that turned out to be impossible. */
  confirm(live = true): void {
    this.live = live
    this.#settle()
  }

  signal(): void {
    this.signals++
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    for (const callback of callbacks) callback()
  }

  onSignal(seen: number, callback: () => void): () => void {
    if (this.signals > seen) callback()
    else this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }

  suspect(cursor: string): void {
    this.suspected.push(cursor)
  }

  close(): void {
    this.closed = true
  }
}
