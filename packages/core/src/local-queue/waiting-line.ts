import type { Acquired } from '../acquire/acquisition.ts'
import type { Plan } from '../options.ts'
import type { Clock } from '../timing/clock.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { callsPerMs } from './figures.ts'

/** A call that waits for a lock. */
export interface Caller {
  readonly plan: Plan
  /** When its wait began. */
  readonly since: Instant
  /** How long it would go without checking the store if it were the only call, in milliseconds. */
  readonly patienceMs: number
}

/** A call that waits in line, with the functions that end its wait. */
export interface WaitingCall extends Caller {
  resolve(acquired: Acquired | Promise<Acquired>): void
  reject(reason: unknown): void
}

/**
 * The calls of one process that wait for one key, in order of arrival. There may be thousands, so each costs little: no
 * command, no timer and no promise except its caller's own. One timer, set for the earliest end of a wait, serves them
 * all.
 */
export class WaitingLine {
  readonly #clock: Clock
  readonly #timeUp: (call: WaitingCall) => void
  readonly #calls = new Map<WaitingCall, (() => void) | undefined>()
  #timerAtMs = Infinity
  #cancelTimer: (() => void) | undefined

  /** @param timeUp called for each call whose wait is over, after it has left the line */
  constructor(clock: Clock, timeUp: (call: WaitingCall) => void) {
    this.#clock = clock
    this.#timeUp = timeUp
  }

  get size(): number {
    return this.#calls.size
  }

  get first(): WaitingCall | undefined {
    return this.#calls.keys().next().value
  }

  [Symbol.iterator](): Iterator<WaitingCall> {
    return this.#calls.keys()
  }

  /** Adds a call at the end of the line. It leaves by itself when its time is over or its signal is aborted. */
  add(call: WaitingCall): void {
    const { signal } = call.plan
    const onAbort = (): void => {
      this.leave(call)
      call.reject(signal?.reason)
    }
    this.#calls.set(call, signal && onAbort)
    signal?.addEventListener('abort', onAbort)
    this.#arm(call, call.since)
  }

  leave(call: WaitingCall): void {
    const onAbort = this.#calls.get(call)
    this.#calls.delete(call)
    if (onAbort) call.plan.signal?.removeEventListener('abort', onAbort)
    if (this.#calls.size === 0) this.#disarm()
  }

  /** Ends every wait with this reason. */
  end(reason: unknown): void {
    for (const call of this) {
      this.leave(call)
      call.reject(reason)
    }
  }

  #leftMs({ plan, since }: WaitingCall, now: Instant): number {
    return plan.waitMs - elapsedMs(now, since)
  }

  /**
   * Ensures that the timer fires no later than this call needs it. In a long line, which takes time to walk through, it
   * may be a few milliseconds late. A call that leaves does not change the timer.
   */
  #arm(call: WaitingCall, now: Instant): void {
    const leftMs = Math.max(Math.trunc(this.#calls.size / callsPerMs), this.#leftMs(call, now))
    const atMs = now.monotonicMs + leftMs
    if (atMs >= this.#timerAtMs) return
    this.#disarm()
    this.#timerAtMs = atMs
    this.#cancelTimer = this.#clock.schedule(() => this.#onTimer(), leftMs)
  }

  #onTimer(): void {
    this.#disarm()
    const now = instant(this.#clock)
    for (const call of this) {
      if (this.#leftMs(call, now) > 0) {
        this.#arm(call, now)
      } else {
        this.leave(call)
        this.#timeUp(call)
      }
    }
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#timerAtMs = Infinity
  }
}
