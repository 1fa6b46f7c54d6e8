import type { Clock } from '@leasehold/core'

/** So many are told in one go: about 2 ms of work. */
const stepsPerTurn = 32
/** What begins so long after the last go began is another. */
const turnMs = 1

/** Does one thing, and answers whether there is more to do. */
export type Step = () => boolean

/**
 * Shares the event loop among those who have many to tell.
 *
 * Each key adds its step, and the steps are taken one by one in a circle, so that a key with one waiter is served before the
 * second of a key with thousands. After a few steps other work goes first: requests, messages, and the bytes of what was told.
 * What is little is done at once, in the call that adds it.
 */
export class FairTurns {
  readonly #clock: Clock
  /** In the order in which they come next. */
  readonly #steps = new Set<Step>()
  #startedMs = Number.NEGATIVE_INFINITY
  #left = 0
  #running = false
  #isPlanned = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Harmless for a step that is there already. */
  add(step: Step): void {
    this.#steps.add(step)
    if (this.#running || this.#isPlanned) return
    const nowMs = this.#clock.monotonicMs()
    if (nowMs >= this.#startedMs + turnMs) this.#begin(nowMs)
    this.#run()
  }

  #begin(nowMs: number): void {
    this.#startedMs = nowMs
    this.#left = stepsPerTurn
  }

  #run(): void {
    this.#running = true
    try {
      // Those that are added meanwhile are met too, at the end.
      for (const step of this.#steps) {
        if (this.#left === 0) break
        this.#left--
        this.#take(step)
      }
    } finally {
      this.#running = false
      if (this.#steps.size > 0) this.#plan()
    }
  }

  #take(step: Step): void {
    this.#steps.delete(step)
    // One that throws has its next turn like the others.
    let hasMore = true
    try {
      hasMore = step()
    } finally {
      if (hasMore) this.#steps.add(step)
    }
  }

  #plan(): void {
    this.#isPlanned = true
    const next = (): void => {
      this.#isPlanned = false
      this.#begin(this.#clock.monotonicMs())
      this.#run()
    }
    this.#clock.schedule(next, 0, 'background')
  }
}
