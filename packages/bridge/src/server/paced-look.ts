import { type Clock, InvalidOptionError, type LeaseStore, type LookOutcome } from '@leasehold/core'
import type { LookReason, OnBridgeEvent } from './bridge-events.ts'

/** The least distance between two looks at one key, whatever causes them. */
const leastDistanceMs = 250
/** How long the store may take to answer. */
const lookDeadlineMs = 2_000

/** What a look came to: the store's answer, no usable one, or that there can be no lock of that name. */
export type Seen = Extract<LookOutcome, { type: 'looked' }> | { readonly type: 'unavailable' | 'bad-key' }

/** `wanted` is asked before the store is: whoever wanted to know may have gone. */
export type Look = (key: string, reason: LookReason, wanted?: () => boolean) => Promise<Seen>

/** Asks the store, within a deadline, and counts it. Never rejects. The cursor plays no part: see `WatchedKey`. */
export function countedLook(store: Pick<LeaseStore, 'look'>, clock: Clock, onEvent: OnBridgeEvent): Look {
  return async (key, reason) => {
    const seen = await seenBy(store, clock, key)
    onEvent({ type: 'look', reason, outcome: countedAs[seen.type] })
    return seen
  }
}

const countedAs = { looked: 'answered', unavailable: 'unanswered', 'bad-key': 'bad-key' } as const

function seenBy(store: Pick<LeaseStore, 'look'>, clock: Clock, key: string): Promise<Seen> {
  const stop = new AbortController()
  return new Promise((resolve) => {
    const settle = (seen: Seen): void => {
      stopTimer()
      resolve(seen)
    }
    const giveUp = (): void => {
      settle({ type: 'unavailable' })
      stop.abort()
    }
    const stopTimer = clock.schedule(giveUp, lookDeadlineMs, 'background')
    const ask = async (): Promise<LookOutcome> => {
      const [outcome] = await store.look([{ key, cursor: '-' }], stop.signal)
      return outcome as LookOutcome
    }
    ask().then(
      (outcome) => settle(outcome.type === 'looked' ? outcome : { type: 'unavailable' }),
      (error) => settle({ type: error instanceof InvalidOptionError ? 'bad-key' : 'unavailable' }),
    )
  })
}

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
