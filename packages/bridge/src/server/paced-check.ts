import type { Clock } from '@leasehold/core'
import type { CheckOutcome } from '@leasehold/core/adapter'
import type { CheckReason } from './bridge-events.ts'
import type { RedisProblem } from './redis-problem.ts'

/** The least time between two checks of one key, in milliseconds, whatever triggers them. */
const leastDistanceMs = 250

/** The outcome of a check. */
export type Seen =
  | Extract<CheckOutcome, { type: 'checked' }>
  /** The store gave no usable answer, or was not asked because it is not answering now. */
  | { readonly type: 'unavailable'; readonly problem?: RedisProblem }
  /** There can be no lock with that name. */
  | { readonly type: 'bad-key' }
  /** When the check could be sent, nobody needed it anymore. Waiters that have come since need another one. */
  | { readonly type: 'unwanted' }

/** `wanted` is called immediately before the store is asked: those who wanted the check may have left. */
export type Check = (key: string, reason: CheckReason, wanted?: () => boolean) => Promise<Seen>

/** The checks of one key: one at a time, and never in quick succession. */
export class PacedCheck {
  readonly #clock: Clock
  readonly #check: (reason: CheckReason) => Promise<'again' | undefined>
  #lastMs = Number.NEGATIVE_INFINITY
  #checking = false
  #planned: { readonly dueMs: number; readonly cancel: () => void } | undefined

  /** @param check must not reject; resolves with `again` if its result is useless and another check is needed */
  constructor(clock: Clock, check: (reason: CheckReason) => Promise<'again' | undefined>) {
    this.#clock = clock
    this.#check = check
  }

  /** Checks after `delayMs`, or as soon as the least time allows. One check serves all who ask before it is answered. */
  request(reason: CheckReason, delayMs = 0): void {
    if (this.#checking) return
    const nowMs = this.#clock.monotonicMs()
    const dueMs = Math.max(nowMs + delayMs, this.#lastMs + leastDistanceMs)
    if (this.#planned && this.#planned.dueMs <= dueMs) return
    this.cancel()
    if (dueMs <= nowMs) return void this.#run(reason)
    const cancel = this.#clock.schedule(() => void this.#run(reason), dueMs - nowMs, 'background')
    this.#planned = { dueMs, cancel }
  }

  /** Cancels a check that has not begun. */
  cancel(): void {
    this.#planned?.cancel()
    this.#planned = undefined
  }

  async #run(reason: CheckReason): Promise<void> {
    this.#planned = undefined
    this.#checking = true
    this.#lastMs = this.#clock.monotonicMs()
    const again = await this.#check(reason)
    this.#checking = false
    if (again) this.request(reason)
  }
}
