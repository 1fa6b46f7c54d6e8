import { SignalCount } from '../signal-count.ts'
import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'

/** Whoever went on unheard looks again once it is heard, spread over so long, in milliseconds. */
const lookAgainSpreadMs = 250

/**
 * One who listens to a channel.
 *
 * States: *awaiting* confirmation → *hearing*, or *missing* what is released until it has been told to look again →
 * *hearing*.
 */
export class ChannelListener {
  readonly count: SignalCount = new SignalCount()
  readonly ready: Promise<void>
  readonly #clock: Clock
  #isMissing = false
  #settle = (): void => undefined
  #stopLook: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.ready = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get isMissing(): boolean {
    return this.#isMissing
  }

  /** Its channel is confirmed. What was released before, while it missed that, was heard by nobody, so it looks. */
  hear(): void {
    this.#settle()
    if (!this.#isMissing || this.#stopLook) return
    const look = (): void => {
      this.#isMissing = false
      this.#stopLook = undefined
      this.count.add()
    }
    this.#stopLook = this.#clock.schedule(look, jitter() * lookAgainSpreadMs, 'background')
  }

  /** Its channel is not confirmed (any more), and it goes on without. */
  miss(): void {
    this.#settle()
    this.#isMissing = true
    this.#stopLook?.()
    this.#stopLook = undefined
  }

  close(): void {
    this.count.forget()
    this.#stopLook?.()
  }
}
