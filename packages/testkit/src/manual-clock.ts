import type { Clock } from '@leasehold/core'

/** More timers than this in one `advance` mean that a timer re-arms itself without a delay. */
const mostTimersPerAdvance = 100_000

interface Timer {
  readonly dueMs: number
  readonly background: boolean
  /** Whether it may be left over at the end of a test. */
  readonly standing: boolean
  readonly callback: () => void
}

/** A timer that is armed and has not run yet. */
export interface PendingTimer {
  readonly dueInMs: number
  /** Whether it was armed so that it would not keep a process alive. */
  readonly background: boolean
}

/**
 * A clock that moves only when a test says so.
 *
 * The two readings can diverge, as they do in life: somebody sets the wall clock, a machine is suspended, or a callback
 * keeps the event loop busy so that timers run late.
 */
export class ManualClock implements Clock {
  #monotonicMs = 0
  #wallMs: number
  #advancing = false
  readonly #timers = new Set<Timer>()

  /** Begins at `wallMs` since the epoch; default January 1, 2026, a date that is easy to recognize in a failure. */
  constructor(wallMs: number = Date.UTC(2026, 0, 1)) {
    this.#wallMs = wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  schedule(callback: () => void, delayMs: number, mode?: 'background' | 'standing'): () => void {
    if (!Number.isFinite(delayMs)) throw new RangeError(`A timer needs a finite delay, not ${delayMs}`)
    const timer = {
      dueMs: this.#monotonicMs + Math.max(0, delayMs),
      background: mode !== undefined,
      standing: mode === 'standing',
      callback,
    }
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
    }
  }

  /** How many timers are armed, without those that may be left over: 0 once everything under test has finished. */
  get pending(): number {
    return [...this.#timers].filter(({ standing }) => !standing).length
  }

  /** The armed timers, soonest first. */
  get timers(): readonly PendingTimer[] {
    return [...this.#timers]
      .sort((a, b) => a.dueMs - b.dueMs)
      .map(({ dueMs, background }) => ({ dueInMs: dueMs - this.#monotonicMs, background }))
  }

  /**
   * Lets `ms` pass on both clocks. Runs the timers that fall due, in order, each at its own time, and lets promises
   * settle before and after each. Does not wait for answers over a socket.
   *
   * @throws what a timer's callback throws; an Error when a timer re-arms itself endlessly.
   */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`Time passes forwards; ${ms} ms is not a time to advance by`)
    if (this.#advancing) throw new Error('The clock is advancing already; await one advance before the next')
    this.#advancing = true
    try {
      const endMs = this.#monotonicMs + ms
      await promisesSettled()
      let ran = 0
      for (let timer = this.#due(endMs); timer; timer = this.#due(endMs)) {
        if (++ran > mostTimersPerAdvance) throw new Error('A timer re-arms itself without a delay')
        this.#timers.delete(timer)
        this.#moveTo(timer.dueMs)
        timer.callback()
        await promisesSettled()
      }
      this.#moveTo(endMs)
    } finally {
      this.#advancing = false
    }
  }

  /** Steps the wall clock forward or (with a negative number) back. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  /** Simulates a suspended machine: the wall clock moves on, the monotonic clock and its timers stand still. */
  freeze(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('A machine cannot be suspended for less than no time')
    this.#wallMs += ms
  }

  /** Simulates a busy event loop: both clocks move on, and timers due meanwhile run late, at the next `advance`. */
  block(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('An event loop cannot be busy for less than no time')
    this.#moveTo(this.#monotonicMs + ms)
  }

  #due(endMs: number): Timer | undefined {
    let next: Timer | undefined
    // Of two timers due at the same time, the one armed first comes first, and stays.
    for (const timer of this.#timers) {
      if (timer.dueMs <= endMs && (!next || timer.dueMs < next.dueMs)) next = timer
    }
    return next
  }

  #moveTo(monotonicMs: number): void {
    const passedMs = Math.max(0, monotonicMs - this.#monotonicMs)
    this.#monotonicMs += passedMs
    this.#wallMs += passedMs
  }
}

// Captured at import, so that a test runner's fake timers do not stop the clock itself.
const { setImmediate } = globalThis

/** Waits for the event loop's next task: all promise callbacks, and those they cause, run before it. */
const promisesSettled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
