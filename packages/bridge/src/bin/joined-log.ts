import { type Clock, systemClock } from '@leasehold/core'

/** Writes one line; `times` is how often it was to be written since the line before of the same cause. */
export type WriteLine = (times: number) => void

/** The lines of one cause come no closer than this: a fault that strikes everyone who waits is one fault. */
const apartMs = 10_000
/** So many causes are told apart at a time. A cause has a reason in its name, and what a server writes there may differ each time. */
const mostCauses = 100
const otherCauses = 'other causes'

interface Cause {
  /** Of the lines that were held back, the last, and how many there were. */
  held: { readonly write: WriteLine; readonly times: number } | undefined
  stopTimer: () => void
}

/**
 * Joins log lines: of each cause the first is written at once, and then at most one each 10 s, which says how many there
 * were. None is lost: those held back are written when the time is over, or before.
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

  /** Writes what is held back of the causes whose name begins so. They stay as far apart from what comes next. */
  flush(beginning: string): void {
    for (const [name, cause] of [...this.#causes]) {
      if (!name.startsWith(beginning)) continue
      const { held } = cause
      cause.held = undefined
      held?.write(held.times)
    }
  }

  /** Writes all that is held back, and sets no timer any more until there is another line. */
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
