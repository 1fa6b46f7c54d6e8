/** A moment by both clocks: one may be set, and the other stands still on some machines while they sleep. */
interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

const now = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() })

/** For how long the page may believe in its role: as long as its server said last, from when the page *asked*. */
export class Trust {
  readonly #askedAt = new Map<number, Moment>()
  #questions = 0
  #until: Moment | undefined

  /** For how long from now, in milliseconds. */
  get leftMs(): number {
    if (!this.#until) return 0
    const { monotonicMs, wallMs } = now()
    return Math.max(0, Math.min(this.#until.monotonicMs - monotonicMs, this.#until.wallMs - wallMs))
  }

  /** The page asks now. Answers the number of the question. */
  ask(): number {
    this.#questions++
    this.#askedAt.set(this.#questions, now())
    return this.#questions
  }

  answered(question: number, forMs: number): void {
    const asked = this.#askedAt.get(question)
    this.#until = asked && { monotonicMs: asked.monotonicMs + forMs, wallMs: asked.wallMs + forMs }
    for (const number of this.#askedAt.keys()) if (number <= question) this.#askedAt.delete(number)
  }

  /** There is no server any more. */
  end(): void {
    this.#until = undefined
    this.#askedAt.clear()
  }
}
