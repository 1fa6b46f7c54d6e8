import type { Clock } from '@leasehold/core'
import { beatsPerSilence } from './figures.ts'
import type { OwnSessions } from './own-sessions.ts'

/**
 * Ends sessions whose clients have been silent for too long. One timer serves all sessions.
 *
 * A late beat shows that this process was busy or paused, and that signs of life may not have been read yet. So such a
 * beat ends nothing, but never twice in a row: by the next beat, they have been read.
 */
export class Heartbeat {
  readonly #clock: Clock
  readonly #silenceMs: number
  readonly #own: OwnSessions
  readonly #ping: () => void
  #cancel: (() => void) | undefined
  #dueMs = 0
  #pingMs = 0
  #hasForgiven = false

  constructor(clock: Clock, silenceMs: number, own: OwnSessions, ping: () => void) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#own = own
    this.#ping = ping
  }

  get #everyMs(): number {
    return this.#silenceMs / beatsPerSilence
  }

  /** Beats from now on, as long as there are sessions. */
  start(): void {
    if (this.#cancel) return
    this.#pingMs = this.#clock.monotonicMs() + this.#everyMs
    this.#arm(this.#pingMs)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #arm(atMs: number): void {
    this.#dueMs = atMs
    const delayMs = Math.max(1, Math.ceil(atMs - this.#clock.monotonicMs()))
    this.#cancel = this.#clock.schedule(() => this.#beat(), delayMs, 'background')
  }

  #beat(): void {
    this.#cancel = undefined
    const nowMs = this.#clock.monotonicMs()
    const isLate = nowMs - this.#dueMs > this.#everyMs / 2
    const forgives = isLate && !this.#hasForgiven
    this.#hasForgiven = forgives
    const silentMs = forgives ? Infinity : this.#endSilent(nowMs)
    if (nowMs >= this.#pingMs) {
      this.#ping()
      this.#pingMs = nowMs + this.#everyMs
    }
    if (this.#own.size > 0 && !this.#cancel) this.#arm(Math.min(this.#pingMs, silentMs))
  }

  /** Returns when the next client could have been silent for too long. */
  #endSilent(nowMs: number): number {
    let nextMs = Infinity
    for (const session of this.#own.all()) {
      const endsMs = session.seenMs + this.#silenceMs
      if (endsMs <= nowMs) session.finish('silent')
      else nextMs = Math.min(nextMs, endsMs)
    }
    return nextMs
  }
}
