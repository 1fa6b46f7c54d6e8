import type { Clock, LookOutcome } from '@leasehold/core'
import type { LookReason } from './bridge-events.ts'
import type { RedisProblem } from './redis-problem.ts'

/** The least distance between two looks at one key, whatever causes them. */
const leastDistanceMs = 250

/** What a look came to. */
export type Seen =
  | Extract<LookOutcome, { type: 'looked' }>
  /** The store had no usable answer; or its turn did not come, and would have had none. */
  | { readonly type: 'unavailable'; readonly problem?: RedisProblem }
  /** There can be no lock of that name. */
  | { readonly type: 'bad-key' }
  /** Nobody wanted to know any more when it could be sent. Whoever came since needs another look. */
  | { readonly type: 'unwanted' }

/** `wanted` is asked before the store is: whoever wanted to know may have gone. */
export type Look = (key: string, reason: LookReason, wanted?: () => boolean) => Promise<Seen>

/** The looks at one key: one at a time, and never in quick succession. */
export class PacedLook {
  readonly #clock: Clock
  readonly #look: (reason: LookReason) => Promise<'again' | undefined>
  #lastMs = Number.NEGATIVE_INFINITY
  #looking = false
  #planned: { readonly dueMs: number; readonly cancel: () => void } | undefined

  /** @param look must not reject; answers whether what it saw is worth nothing, so that another look is needed */
  constructor(clock: Clock, look: (reason: LookReason) => Promise<'again' | undefined>) {
    this.#clock = clock
    this.#look = look
  }

  /** Looks in so long, or as soon as the distance allows. One look serves all who ask before it is answered. */
  request(reason: LookReason, delayMs = 0): void {
    if (this.#looking) return
    const nowMs = this.#clock.monotonicMs()
    const dueMs = Math.max(nowMs + delayMs, this.#lastMs + leastDistanceMs)
    if (this.#planned && this.#planned.dueMs <= dueMs) return
    this.cancel()
    if (dueMs <= nowMs) return void this.#run(reason)
    const cancel = this.#clock.schedule(() => void this.#run(reason), dueMs - nowMs, 'background')
    this.#planned = { dueMs, cancel }
  }

  /** Forgets what has not begun. */
  cancel(): void {
    this.#planned?.cancel()
    this.#planned = undefined
  }

  async #run(reason: LookReason): Promise<void> {
    this.#planned = undefined
    this.#looking = true
    this.#lastMs = this.#clock.monotonicMs()
    const again = await this.#look(reason)
    this.#looking = false
    if (again) this.request(reason)
  }
}
