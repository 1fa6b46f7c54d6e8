import { type Clock, systemClock } from '@leasehold/core'

/** Writes one line. `times` is how many lines with the same cause it stands for. */
export type WriteLine = (times: number) => void

/** The least time between two lines with one cause, in milliseconds: a fault that hits every waiter is one fault. */
const apartMs = 10_000
/**
 * How many causes are distinguished at a time. A cause's name contains a reason, which a server may word differently
 * each time.
 */
const mostCauses = 100
const otherCauses = 'other causes'

interface Cause {
  /** The last line that was held back, and how many there were. */
  held: { readonly write: WriteLine; readonly times: number } | undefined
  stopTimer: () => void
}

/**
 * Joins log lines with the same cause. The first line of each cause is written at once. After that there is at most one
 * every 10 s, which says how many there were. No line is lost: what was held back is written when the 10 s are over, or
 * earlier.
 */
export class JoinedLog {
  readonly #clock: Clock
  readonly #causes = new Map<string, Cause>()

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  write(name: string, write: WriteLine): void {
    const known = this.#causes.size < mostCauses || this.#causes.has(name) ? name : otherCauses
    const cause = this.#causes.get(known)
    if (cause) {
      cause.held = { write, times: (cause.held?.times ?? 0) + 1 }
      return
    }
    this.#begin(known)
    write(1)
  }

  /** Writes what is held back for the causes whose name begins like this. The next lines are still held back. */
  flush(beginning: string): void {
    for (const [name, cause] of [...this.#causes]) {
      if (!name.startsWith(beginning)) continue
      const { held } = cause
      cause.held = undefined
      held?.write(held.times)
    }
  }

  /** Writes everything that is held back, and leaves no timer behind until there is another line. */
  end(): void {
    this.flush('')
    for (const { stopTimer } of this.#causes.values()) stopTimer()
    this.#causes.clear()
  }

  #begin(name: string): void {
    const stopTimer = this.#clock.schedule(() => this.#next(name), apartMs, 'background')
    this.#causes.set(name, { held: undefined, stopTimer })
  }

  #next(name: string): void {
    const held = this.#causes.get(name)?.held
    this.#causes.delete(name)
    if (!held) return
    this.#begin(name)
    held.write(held.times)
  }
}
