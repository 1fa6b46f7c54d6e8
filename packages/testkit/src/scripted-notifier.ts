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
  /** Whether it claims to check holders itself; default false. */
  readonly checks?: boolean | undefined
  /** Whether a subscription is confirmed as soon as it is made; default true. */
  readonly confirms?: boolean | undefined
}

/** A notifier that knows nothing about any lock: it reports what a test tells it to, when the test tells it. */
export class ScriptedNotifier implements ReleaseNotifier {
  readonly checks: boolean
  readonly recheckMs = 1_000
  /** All subscriptions ever made, in order. */
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

  /** Reports that it hears no releases. */
  disconnect(cause: unknown): void {
    this.#tell({ type: 'disconnected', cause })
  }

  /** Reports that it hears releases again. */
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
  /** The cursor of each holder whose release was not signaled, as waiters have reported. */
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

  /** Settles `ready`: releases are heard from now on, or cannot be heard if `live` is false. */
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
