import { Logger } from '@nestjs/common'

/** The runs of one method in this process, and the warning if the next one is due before a run has ended. */
export class Overruns {
  readonly #method: string
  readonly #since = new Map<string, number>()

  /** @param method its name, for the warning */
  constructor(method: string) {
    this.#method = method
  }

  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    this.#since.set(key, performance.now())
    try {
      return await work()
    } finally {
      this.#since.delete(key)
    }
  }

  /**
   * Warns if a skipped call's lock is held by an earlier run in this process, rather than by another instance's run of
   * the same job.
   */
  skipped(key: string): void {
    const since = this.#since.get(key)
    if (since === undefined) return
    const seconds = ((performance.now() - since) / 1_000).toFixed(1)
    const text = `${this.#method} is due and skipped: its last run, under way for ${seconds} s, has outlasted the interval`
    new Logger('Leasehold').warn(`${text} (lock "${key}")`)
  }
}
