/**
 * A moment by both clocks: the wall clock may be set, and the monotonic one stands still on some machines while they
 * sleep.
 */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

const now = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() })

/** For how long the page can trust its role: as long as its server said last, from when the page *asked*. */
export class Trust {
  readonly #askedAt = new Map<number, Moment>()
  #questions = 0
  #until: Moment | undefined

  /** The time that is left from now, in milliseconds. */
  get leftMs(): number {
    if (!this.#until) return 0
    const { monotonicMs, wallMs } = now()
    return Math.max(0, Math.min(this.#until.monotonicMs - monotonicMs, this.#until.wallMs - wallMs))
  }

  /** Records that the page asks now. Returns the question's number. */
  ask(): number {
    this.#questions++
    this.#askedAt.set(this.#questions, now())
    return this.#questions
  }

  /** Returns when the question was asked, by the wall clock. */
  answered(question: number, forMs: number): number | undefined {
    const asked = this.#askedAt.get(question)
    this.#until = asked && { monotonicMs: asked.monotonicMs + forMs, wallMs: asked.wallMs + forMs }
    for (const number of this.#askedAt.keys()) if (number <= question) this.#askedAt.delete(number)
    return asked?.wallMs
  }

  /** Ends all trust: the page has no server any more. */
  end(): void {
    this.#until = undefined
    this.#askedAt.clear()
  }
}
