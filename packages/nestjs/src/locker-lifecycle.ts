import { type Locker, systemClock } from '@leasehold/core'
import { type Subscription, sleep } from '@leasehold/core/adapter'
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common'
import type { LeaseholdModuleOptions } from './module-options.ts'

/** How long an application waits, when it starts, for releases to be heard, in milliseconds. It starts without, too. */
const subscribedWithinMs = 2_000

/** The key that the subscription is for which keeps the notifier connected. Nobody locks it. */
const keptKey = 'leasehold:nestjs'

/** Begins and ends with the application what a locker needs. */
export class LockerLifecycle implements OnModuleInit, OnModuleDestroy {
  readonly #locks: Locker
  readonly #options: LeaseholdModuleOptions
  #subscription: Subscription | undefined

  constructor(locks: Locker, options: LeaseholdModuleOptions) {
    this.#locks = locks
    this.#options = options
  }

  /** Subscribes, so that the first waiter needs no new connection, and so that `onEvent` is told now if releases go unheard. */
  async onModuleInit(): Promise<void> {
    const subscription = this.#options.notifier?.subscribe(keptKey, '')
    if (!subscription) return
    this.#subscription = subscription
    const whenReady = (wake: () => void): undefined => void subscription.ready.then(wake)
    await sleep(this.#options.clock ?? systemClock, subscribedWithinMs, undefined, whenReady)
  }

  /** Ends waits at once, lets running work end within the grace, and gives back what is held. */
  async onModuleDestroy(): Promise<void> {
    this.#subscription?.close()
    await this.#locks.close({ grace: this.#options.grace })
    await this.#options.onClosed?.()
  }
}
