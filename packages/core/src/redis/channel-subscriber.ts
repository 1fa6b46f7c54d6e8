import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { SignalCount } from '../waiting/signal-count.ts'

/** A waiter whose subscription was not confirmed checks once it is, at a random time within this many milliseconds. */
const checkAgainSpreadMs = 250

/** Called with each message, and with undefined when messages may have been missed. */
export type MessageListener = (message: string | undefined) => void

/**
 * One subscriber of a channel.
 *
 * States: *awaiting* confirmation → *hearing*, or *missing* releases. Once its channel is confirmed, a subscriber that
 * is *missing* releases is woken to check again → *hearing*.
 */
export class ChannelSubscriber {
  readonly count: SignalCount = new SignalCount()
  readonly ready: Promise<void>
  readonly #clock: Clock
  #isMissing = false
  #settle = (): void => undefined
  #stopCheck: (() => void) | undefined
  readonly #listener: MessageListener | undefined

  constructor(clock: Clock, listener?: MessageListener) {
    this.#clock = clock
    this.#listener = listener
    this.ready = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  get isMissing(): boolean {
    return this.#isMissing
  }

  /** A message arrived, or one may have been missed. */
  heard(message: string | undefined): void {
    this.count.add()
    this.#listener?.(message)
  }

  /** The channel is confirmed. A subscriber that was missing releases is woken to check, because nobody heard them. */
  hear(): void {
    this.#settle()
    if (!this.#isMissing || this.#stopCheck) return
    const check = (): void => {
      this.#isMissing = false
      this.#stopCheck = undefined
      this.heard(undefined)
    }
    this.#stopCheck = this.#clock.schedule(check, jitter() * checkAgainSpreadMs, 'background')
  }

  /** The channel could not be confirmed, or no longer is. The subscriber goes on without it. */
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
