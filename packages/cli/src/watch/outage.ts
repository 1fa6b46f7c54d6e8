/** How long the end of an outage is shown, in milliseconds: long enough to be read on a screen. */
const toldMs = 10_000

/** Remembers that Redis did not answer, to report when it answers again. */
export class Outage {
  #isOn = false
  #endedAt: Date | undefined

  /** @returns what to report of the last outage; undefined if there was none recently, or it goes on */
  after(trouble: string | undefined, at: Date): string | undefined {
    if (this.#isOn && trouble === undefined) this.#endedAt = at
    this.#isOn = trouble !== undefined
    if (this.#isOn || !this.#endedAt || at.getTime() - this.#endedAt.getTime() > toldMs) return undefined
    return `Redis answers again since ${this.#endedAt.toISOString().slice(11, 19)} UTC`
  }
}
