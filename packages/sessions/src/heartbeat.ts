import type { Clock } from '@leasehold/core'
import { beatsPerSilence } from './figures.ts'
import type { LiveSession } from './session.ts'

/** Whose clients are looked after. */
export interface Patients {
  all(): readonly LiveSession[]
  readonly size: number
}

/**
 * Ends sessions whose clients have been silent for too long. One timer serves all of them.
 *
 * A beat that comes late says that this process was busy or paused, and that signs of life may lie unread. So such a beat ends nothing,
 * once: until the next, they are read.
 */
export class Heartbeat {
  readonly #clock: Clock
  readonly #silenceMs: number
  readonly #patients: Patients
  readonly #ping: () => void
  #cancel: (() => void) | undefined
  #dueMs = 0
  #hasForgiven = false

  constructor(clock: Clock, silenceMs: number, patients: Patients, ping: () => void) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#patients = patients
    this.#ping = ping
  }

  /** Beats from now on, as long as there are sessions. */
  start(): void {
    if (this.#cancel) return
    const everyMs = this.#silenceMs / beatsPerSilence
    this.#dueMs = this.#clock.monotonicMs() + everyMs
    this.#cancel = this.#clock.schedule(() => this.#beat(everyMs), everyMs, 'background')
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #beat(everyMs: number): void {
    this.#cancel = undefined
    const nowMs = this.#clock.monotonicMs()
    const isLate = nowMs - this.#dueMs > everyMs / 2
    if (isLate && !this.#hasForgiven) this.#hasForgiven = true
    else {
      this.#hasForgiven = false
      for (const session of this.#patients.all()) {
        if (nowMs - session.seenMs >= this.#silenceMs) session.finish('silent')
      }
    }
    this.#ping()
    if (this.#patients.size > 0) this.start()
  }
}
