import type { Clock } from '../timing/clock.ts'
import type { Troubles } from './troubles.ts'

/** So many misses in a row are told: a single lock may have been evicted, or removed by hand. */
const toldAfter = 2
/**
 * Misses closer together than this, in milliseconds, count as one. A flush ends many locks at once, several may have
 * waited for the same one, and each notices when it checks, which is within a second.
 */
const sameMissMs = 2_000

/**
 * Counts releases that were not announced to a subscription that is in order. They are told of as soon as there have
 * been several and no message that anybody waited for in between.
 */
export class MissedReleases {
  readonly #clock: Clock
  readonly #troubles: Troubles
  #misses = 0
  #lastMissMs = -Infinity
  /** The cursor of whoever released what seems to be missed, while the server is asked. */
  #suspected: string | undefined

  constructor(clock: Clock, troubles: Troubles) {
    this.#clock = clock
    this.#troubles = troubles
  }

  /**
   * A message was heard. If somebody waits for it, those who release do announce it where we listen; otherwise it may be
   * our own release, on a channel that is yet to be left.
   */
  heard(payload: string, isAwaited: boolean): void {
    if (payload.endsWith(` ${this.#suspected}`)) this.#suspected = undefined
    if (!isAwaited) return
    this.#misses = 0
    this.#troubles.end('silence')
  }

  /**
   * A holder has given a lock back and no message has said so, yet. While one is checked into, others are not.
   *
   * @param cursor the holder's, which is the fence that the message names
   * @param confirm asks the server to confirm the subscription again. What was published before arrives before its
   *   answer, so a message that was only on its way is not taken for missing.
   */
  async suspect(channel: string, cursor: string, confirm: () => Promise<boolean>): Promise<void> {
    if (this.#suspected) return
    this.#suspected = cursor
    const confirmed = await confirm()
    const isMissed = this.#suspected !== undefined
    this.#suspected = undefined
    const nowMs = this.#clock.monotonicMs()
    if (!confirmed || !isMissed || nowMs - this.#lastMissMs < sameMissMs) return
    this.#lastMissMs = nowMs
    if (++this.#misses < toldAfter) return
    const told = `Releases were missed, ${this.#misses} in a row, though the subscription to "${channel}" is confirmed`
    const check = 'check that the notifier has the prefix of the store, and that those who release may publish'
    this.#troubles.begin('silence', new Error(`${told}; ${check} (locks that are evicted or flushed look the same)`))
  }
}
