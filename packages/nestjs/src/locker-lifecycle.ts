import { type Locker, systemClock } from '@leasehold/core'
import { type Subscription, sleep } from '@leasehold/core/adapter'
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common'
import type { LeaseholdModuleOptions } from './module-options.ts'

/**
 * How long a starting application waits for the subscription to be ready, in milliseconds. After that, it starts
 * without.
 */
const subscribedWithinMs = 2_000

/** The key of the subscription that keeps the notifier connected. Nobody locks it. */
const keptKey = 'leasehold:nestjs'

/** Starts and stops what a locker needs, with the application. */
export class LockerLifecycle implements OnModuleInit, OnModuleDestroy {
  readonly #locks: Locker
  readonly #options: LeaseholdModuleOptions
  #subscription: Subscription | undefined

  constructor(locks: Locker, options: LeaseholdModuleOptions) {
    this.#locks = locks
    this.#options = options
  }

  /**
   * Subscribes, so that the first waiter needs no new connection, and so that `onEvent` reports now if releases go
   * unheard.
   */
  async onModuleInit(): Promise<void> {
    const subscription = this.#options.notifier?.subscribe(keptKey, '')
    if (!subscription) return
    this.#subscription = subscription
    const whenReady = (wake: () => void): undefined => void subscription.ready.then(wake)
    await sleep(this.#options.clock ?? systemClock, subscribedWithinMs, undefined, whenReady)
  }

  /** Ends all waits at once, lets running work end within the grace, and releases what is still held. */
  async onModuleDestroy(): Promise<void> {
    this.#subscription?.close()
    await this.#locks.close({ grace: this.#options.grace })
    await this.#options.onClosed?.()
  }
}
