import type { ReportedEvent } from '@leasehold/example-node-server/process'
import { paint } from './paint.ts'

/** A character of a bar stands for so many milliseconds, and no bar is longer than so many characters. */
const barMs = 5
const longestBar = 24

/** What came of a hold that was given back, or lost. */
export interface Hold {
  readonly server: string
  readonly key: string
  readonly fence: number | null
  /** When the lock was asked for, on the server's clock. */
  readonly askedAt: number
  readonly waitedMs: number
  readonly heldMs: number
  readonly lost?: string
}

/**
 * Turns the events of the servers' lockers into holds: who asked, how long it waited, how long it held, with which fence.
 *
 * The order of events of different servers is that of their clocks, and only shown. What is proved is taken from the
 * ledger.
 */
export class Timeline {
  readonly #onHold: (hold: Hold) => void
  readonly #acquired = new Map<string, { askedAt: number; waitedMs: number }>()
  waits = 0
  longestWaitMs = 0

  constructor(onHold: (hold: Hold) => void) {
    this.#onHold = onHold
  }

  add(server: string, event: ReportedEvent): void {
    if (event.type === 'contended') this.waits++
    if (event.type !== 'acquired' && event.type !== 'released' && event.type !== 'lost') return
    const { key, fence } = event
    const id = `${server} ${key} ${fence}`
    if (event.type === 'acquired') {
      this.longestWaitMs = Math.max(this.longestWaitMs, event.waitedMs)
      this.#acquired.set(id, { askedAt: event.at - event.waitedMs, waitedMs: event.waitedMs })
      return
    }
    const { askedAt, waitedMs } = this.#acquired.get(id) ?? { askedAt: event.at, waitedMs: 0 }
    const heldMs = event.type === 'released' ? event.heldMs : event.at - askedAt - waitedMs
    // A lost lease is released too, later.
    if (!this.#acquired.delete(id)) return
    this.#onHold({
      server,
      key,
      fence,
      askedAt,
      waitedMs,
      heldMs,
      ...(event.type === 'lost' && { lost: event.cause }),
    })
  }
}

/** One line: `1.204 s  B  coupon:spring  ░░░░███  waited 21 ms, held 14 ms, fence …400123`. */
export function holdLine(hold: Hold, startedAt: number): string {
  const seconds = ((hold.askedAt - startedAt) / 1_000).toFixed(3).padStart(7)
  const [waited, held] = bar(hold.waitedMs, hold.heldMs)
  const color = hold.server === 'A' ? 'cyan' : 'magenta'
  const picture = `${paint('dim', waited)}${paint(color, held)}`.concat(' '.repeat(longestBar - (waited + held).length))
  const numbers = `waited ${ms(hold.waitedMs)}  held ${ms(hold.heldMs)}  fence …${String(hold.fence).slice(-9)}`
  const loss = hold.lost === undefined ? '' : paint('red', `  LOST (${hold.lost})`)
  return `${seconds} s  ${paint(color, hold.server)}  ${hold.key.padEnd(15)}  ${picture}  ${numbers}${loss}`
}

/** A wait as `░`, a hold as `█`; what began is shown. */
function bar(waitedMs: number, heldMs: number): [waited: string, held: string] {
  const held = Math.min(longestBar - 1, Math.max(1, Math.round(heldMs / barMs)))
  const waited = Math.min(longestBar - held, Math.round(waitedMs / barMs))
  return ['░'.repeat(waited), '█'.repeat(held)]
}

const ms = (value: number): string => `${Math.round(value)} ms`.padStart(7)
