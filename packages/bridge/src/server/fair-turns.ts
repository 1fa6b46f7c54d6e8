import type { Clock } from '@leasehold/core'

/** The number of steps in one turn of the event loop: about 2 ms of work. */
const stepsPerTurn = 32
/** A step added this long after a turn began belongs to the next turn, in milliseconds. */
const turnMs = 1

/** Does one thing, and returns whether there is more to do. */
export type Step = () => boolean

/**
 * Shares the turns of the event loop among keys that have many waiters to notify.
 *
 * Each key adds its step, and the steps run round robin: a key with one waiter is served before the second waiter of a
 * key with thousands. After a few steps other work goes first: requests, messages, and writing the notifications out. A
 * small amount of work is done at once, in the call that adds it.
 */
export class FairTurns {
  readonly #clock: Clock
  /** The steps, in the order in which they run next. */
  readonly #steps = new Set<Step>()
  #startedMs = Number.NEGATIVE_INFINITY
  #left = 0
  #running = false
  #isPlanned = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds a step. Harmless if it is already there. */
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
      // The loop also reaches steps that are added while it runs, at the end.
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
    // A step that throws runs again like the others.
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
