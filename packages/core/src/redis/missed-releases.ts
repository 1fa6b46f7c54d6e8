import type { Clock } from '../timing/clock.ts'
import type { NotifierTroubles } from './notifier-troubles.ts'

/** This many misses in a row are reported. A single lock may have been evicted, or removed by hand. */
const reportedAfter = 2
/**
 * Misses closer together than this, in milliseconds, count as one. A flush ends many locks at once, and several calls
 * may wait for the same lock; each notices when it checks, which it does within a second.
 */
const sameMissMs = 2_000

/**
 * Counts releases that were not announced although the subscription is confirmed. Reports them after several in a row
 * with no awaited message in between.
 */
export class MissedReleases {
  readonly #clock: Clock
  readonly #troubles: NotifierTroubles
  #misses = 0
  #lastMissMs = -Infinity
  /** The cursor of the holder whose release seems to have been missed, while the server is asked. */
  #suspected: string | undefined

  constructor(clock: Clock, troubles: NotifierTroubles) {
    this.#clock = clock
    this.#troubles = troubles
  }

  /**
   * Notes a message. If somebody waits for it, releases do reach this process. If not, it may be the process's own
   * release, on a channel it is about to leave.
   */
  heard(payload: string, isAwaited: boolean): void {
    if (payload.endsWith(` ${this.#suspected}`)) this.#suspected = undefined
    if (!isAwaited) return
    this.#misses = 0
    this.#troubles.end('silence')
  }

  /**
   * Called when a holder has given a lock back and no message has said so yet. Examines one suspicion at a time.
   *
   * @param cursor the holder's cursor, which is the fence that the message names
   * @param confirm asks the server to confirm the subscription again. Messages published before that arrive before its
   *   answer, so one that was merely in flight does not count as missed.
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
    if (++this.#misses < reportedAfter) return
    const problem = `Releases were missed, ${this.#misses} in a row, though the subscription to "${channel}" is confirmed`
    const check = 'check that notifier and store have the same prefix, and that those who release may publish'
    this.#troubles.begin('silence', new Error(`${problem}; ${check} (evicted or flushed locks look the same)`))
  }
}
