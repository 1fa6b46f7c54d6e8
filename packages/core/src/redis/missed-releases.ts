import type { Clock } from '../timing/clock.ts'
import type { Unheard } from './unheard.ts'

/** So many misses in a row are told: a single lock may have been evicted, or removed by hand. */
const toldAfter = 2
/**
 * Misses closer together than this, in milliseconds, count as one. A flush ends many locks at once, several may have
 * waited for the same one, and each notices when it looks, which is within a second.
 */
const sameMissMs = 2_000

/**
 * Counts releases that were not announced to a subscription that is in order. They are told of as soon as there have
 * been several with no message in between.
 */
export class MissedReleases {
  readonly #clock: Clock
  readonly #unheard: Unheard
  #messages = 0
  #misses = 0
  #lastMissMs = -Infinity
  #checking = false

  constructor(clock: Clock, unheard: Unheard) {
    this.#clock = clock
    this.#unheard = unheard
  }

  /** A message was heard, so somebody announces releases where we listen. */
  heard(): void {
    this.#messages++
    this.#misses = 0
    this.#unheard.end('silence')
  }

  /**
   * A lock has changed hands and no message has said so, yet.
   *
   * @param confirm asks the server to confirm the subscription again. What was published before arrives before its
   *   answer, so a message that was only on its way is not taken for missing.
   */
  async suspect(channel: string, confirm: () => Promise<boolean>): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    const before = this.#messages
    const confirmed = await confirm()
    this.#checking = false
    const nowMs = this.#clock.monotonicMs()
    if (!confirmed || this.#messages !== before || nowMs - this.#lastMissMs < sameMissMs) return
    this.#lastMissMs = nowMs
    if (++this.#misses < toldAfter) return
    const told = `Releases were missed, ${this.#misses} in a row, though the subscription to "${channel}" is confirmed`
    const check = 'check that the notifier has the prefix of the store, and that those who release may publish'
    this.#unheard.begin('silence', new Error(`${told}; ${check} (locks that are evicted or flushed look the same)`))
  }
}
