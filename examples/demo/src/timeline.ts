import type { LockerEvent } from '@leasehold/core'
import type { Way } from './demo-servers.ts'
import { paint } from './paint.ts'

/** How many milliseconds a character of a bar stands for, and how many characters a bar has at most. */
const barMs = 5
const longestBar = 24

const colors: Readonly<Record<string, 'cyan' | 'magenta' | 'yellow'>> = { A: 'cyan', B: 'magenta', C: 'yellow' }

/** An event of a server's locker, or a wake-up through the bridge, with its time on the server's clock, in ms. */
export type ReportedEvent = (LockerEvent | WakeUp) & { readonly at: number }

/** The bridge ended a waiter's pause. */
interface WakeUp {
  readonly type: 'woken'
  readonly key: string
}

/** What it cost the servers over TCP, or those over HTTP, to get their locks. */
export interface Waits {
  /** How many requests had to wait, and the longest wait. */
  count: number
  longestMs: number
  /** How often one of them was woken through the bridge. */
  woken: number
  /** How many locks were acquired, after a wait or without one, and with how many commands in all. */
  acquired: number
  commands: number
}

/** A hold of a lock, from asking for it to its release or loss. */
export interface Hold {
  readonly server: string
  readonly way: Way
  readonly key: string
  readonly fence: number
  /** When the lock was asked for, on the server's clock. */
  readonly askedAt: number
  readonly waitedMs: number
  readonly heldMs: number
  readonly lost?: string
}

/**
 * Turns the events of the servers' lockers into holds: who asked, how long it waited, how long it held, with which fence.
 *
 * Events of different servers are ordered by their clocks, and only shown. Every proof uses the ledger.
 */
export class Timeline {
  readonly #onHold: (hold: Hold) => void
  readonly #acquired = new Map<string, { askedAt: number; waitedMs: number }>()
  readonly waits = new Map<Way, Waits>()

  constructor(onHold: (hold: Hold) => void) {
    this.#onHold = onHold
  }

  add(server: string, way: Way, event: ReportedEvent): void {
    const waits = this.waits.get(way) ?? { count: 0, longestMs: 0, woken: 0, acquired: 0, commands: 0 }
    this.waits.set(way, waits)
    if (event.type === 'contended') waits.count++
    if (event.type === 'woken') waits.woken++
    if (event.type !== 'acquired' && event.type !== 'released' && event.type !== 'lost') return
    const { key, fence } = event
    const id = `${server} ${key} ${fence}`
    if (event.type === 'acquired') {
      waits.longestMs = Math.max(waits.longestMs, event.waitedMs)
      waits.acquired++
      waits.commands += event.commands
      this.#acquired.set(id, { askedAt: event.at - event.waitedMs, waitedMs: event.waitedMs })
      return
    }
    const { askedAt, waitedMs } = this.#acquired.get(id) ?? { askedAt: event.at, waitedMs: 0 }
    const heldMs = event.type === 'released' ? event.heldMs : event.at - askedAt - waitedMs
    // A lost lease is also released, later.
    if (!this.#acquired.delete(id)) return
    this.#onHold({
      server,
      way,
      key,
      fence,
      askedAt,
      waitedMs,
      heldMs,
      ...(event.type === 'lost' && { lost: event.reason }),
    })
  }
}

/** One line: `1.204 s  B TCP   coupon:spring  ░░░░███  waited 21 ms  held 14 ms  fence …400123`. */
export function holdLine(hold: Hold, startedAt: number): string {
  const seconds = ((hold.askedAt - startedAt) / 1_000).toFixed(3).padStart(7)
  const [waited, held] = bar(hold.waitedMs, hold.heldMs)
  const color = colors[hold.server] ?? 'cyan'
  const who = `${hold.server} ${hold.way ?? ''}`.padEnd(6)
  const picture = `${paint('dim', waited)}${paint(color, held)}`.concat(' '.repeat(longestBar - (waited + held).length))
  const numbers = `waited ${ms(hold.waitedMs)}  held ${ms(hold.heldMs)}  fence …${String(hold.fence).slice(-9)}`
  const loss = hold.lost === undefined ? '' : paint('red', `  LOST (${hold.lost})`)
  return `${seconds} s  ${paint(color, who)}  ${hold.key.padEnd(15)}  ${picture}  ${numbers}${loss}`
}

/** One line: `41 requests over HTTP waited for a lock, 93 ms at most; 2.1 commands for each lock; 45 wake-ups …`. */
export function waitsLine(way: Way, { count, longestMs, woken, acquired, commands }: Waits): string {
  const parts = [`${count} requests${way ? ` over ${way}` : ''} waited for a lock, ${Math.round(longestMs)} ms at most`]
  if (acquired > 0) parts.push(`${(commands / acquired).toFixed(1)} commands for each lock`)
  if (woken > 0) parts.push(`${woken} wake-ups through the bridge`)
  return parts.join('; ')
}

/** A wait is `░`, a hold is `█`. Every hold gets at least one character. */
function bar(waitedMs: number, heldMs: number): [waited: string, held: string] {
  const held = Math.min(longestBar - 1, Math.max(1, Math.round(heldMs / barMs)))
  const waited = Math.min(longestBar - held, Math.round(waitedMs / barMs))
  return ['░'.repeat(waited), '█'.repeat(held)]
}

const ms = (value: number): string => `${Math.round(value)} ms`.padStart(7)
