/**
 * What was typed into one part of the document, until the store is known to have it. Only the server's answer says so.
 * Without one, the store may have it or not.
 */
export class Draft {
  /** The last value that the store is known to have had. */
  stored = ''
  /** Values sent and not answered yet, by their number. */
  readonly #waiting = new Map<number, string>()
  /** Values for whose answer the page no longer waits. Somebody typed them, so they stay until they are discarded. */
  readonly #unanswered = new Map<number, string>()

  get isWaiting(): boolean {
    return this.#waiting.size > 0
  }

  get unanswered(): string {
    return [...this.#unanswered.values()].join('\n\n')
  }

  typed(number: number, value: string): void {
    this.#waiting.set(number, value)
  }

  /** The store has taken this value. Each value is the whole part, so the earlier ones no longer matter. */
  written(number: number): void {
    const value = this.#waiting.get(number) ?? this.#unanswered.get(number)
    if (value === undefined) return
    this.stored = value
    this.#unanswered.delete(number)
    for (const each of this.#waiting.keys()) if (each <= number) this.#waiting.delete(each)
  }

  /** This is what the store has. */
  found(value: string): void {
    this.stored = value
    for (const [number, typed] of this.#unanswered) if (typed === value) this.#unanswered.delete(number)
  }

  /** The page has lost its server or its role: it no longer shows as the document what the store may not have. */
  giveUp(): void {
    const last = [...this.#waiting].at(-1)
    if (last) this.#unanswered.set(...last)
    this.#waiting.clear()
  }

  discard(): void {
    this.#unanswered.clear()
  }
}
