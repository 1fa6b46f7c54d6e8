import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { SignalCount } from '../waiting/signal-count.ts'

/** A waiter whose subscription was not confirmed checks once it is: at a random time within so many milliseconds. */
const checkAgainSpreadMs = 250

/**
 * One who is subscribed to a channel.
 *
 * States: *awaiting* confirmation → *hearing*, or *missing* what is released until it has been told to check again →
 * *hearing*.
 */
export class ChannelSubscriber {
  readonly count: SignalCount = new SignalCount()
  readonly ready: Promise<void>
  readonly #clock: Clock
  #isMissing = false
  #settle = (): void => undefined
  #stopCheck: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.ready = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get isMissing(): boolean {
    return this.#isMissing
  }

  /** Its channel is confirmed. What was released before, while it missed that, was heard by nobody, so it checks. */
  hear(): void {
    this.#settle()
    if (!this.#isMissing || this.#stopCheck) return
    const check = (): void => {
      this.#isMissing = false
      this.#stopCheck = undefined
      this.count.add()
    }
    this.#stopCheck = this.#clock.schedule(check, jitter() * checkAgainSpreadMs, 'background')
  }

  /** Its channel is not confirmed (any more), and it goes on without. */
  miss(): void {
    this.#settle()
    this.#isMissing = true
    this.#stopCheck?.()
    this.#stopCheck = undefined
  }

  close(): void {
    this.count.forget()
    this.#stopCheck?.()
  }
}
