import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { SignalCount } from '../waiting/signal-count.ts'

/** A waiter whose subscription was not confirmed checks once it is: at a random time within so many milliseconds. */
const checkAgainSpreadMs = 250

/**
 * One subscriber of a channel.
 *
 * States: *awaiting* confirmation → *hearing*, or *missing* releases. Once its channel is confirmed, a subscriber that is
 * *missing* releases is woken to check again → *hearing*.
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

  /** Its channel is confirmed. If it was missing releases, nobody heard them, so it is woken to check. */
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

  /** Its channel could not be confirmed, or no longer is. The subscriber goes on without it. */
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
