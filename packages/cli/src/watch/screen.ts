import type { ListedLock } from '@leasehold/core/listing'
import { lockColumns } from '../output/lock-columns.ts'
import { type Column, cutTo, tableLines } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { painted } from './change-line.ts'
import type { ChangeName, LockChange } from './lock-changes.ts'
import type { Observation, Seen } from './observer.ts'

/** How long a change, and a lock that is gone, is shown, in milliseconds. */
const shownMs = 5_000

// The alternate screen of a terminal, so that the previous content comes back.
const enter = '\u001b[?1049h\u001b[?25l'
const leave = '\u001b[?25h\u001b[?1049l'
const home = '\u001b[H'
const toEndOfLine = '\u001b[K'
const toEndOfScreen = '\u001b[J'

interface Row {
  readonly lock: ListedLock
  readonly change: ChangeName | undefined
}

/** The table of `watch` on a terminal, redrawn in place. */
export class Screen {
  readonly #terminal: Terminal
  readonly #title: string
  /** The last change of each key, and the lock as it was then. */
  readonly #recent: Map<string, { readonly change: LockChange; readonly seen: Seen; readonly atMs: number }> = new Map()
  #locks: Map<string, Seen> = new Map()
  #note: string | undefined

  constructor(terminal: Terminal, title: string) {
    this.#terminal = terminal
    this.#title = title
    terminal.write(enter)
  }

  /** @param note what the operator should know besides the table */
  show({ locks, changes }: Observation, note: string | undefined): void {
    const atMs = performance.now()
    for (const change of changes) {
      const seen = locks.get(change.key) ?? this.#locks.get(change.key)
      // The number of waiters has a column of its own.
      if (seen && change.change !== 'waiting') this.#recent.set(change.key, { change, seen, atMs })
    }
    this.#locks = new Map(locks)
    this.#note = note
    this.draw()
  }

  draw(): void {
    const { columns = 80, rows = 24 } = this.#terminal
    const lines = this.#lines(columns, rows).slice(0, rows)
    this.#terminal.write(home + lines.map((line) => line + toEndOfLine).join('\r\n') + toEndOfScreen)
  }

  close(): void {
    this.#terminal.write(leave)
  }

  #lines(columns: number, height: number): readonly string[] {
    const { colors } = this.#terminal
    const nowMs = performance.now()
    for (const [key, { atMs }] of this.#recent) if (nowMs - atMs > shownMs) this.#recent.delete(key)
    const rows = this.#rows(nowMs)
    const held = [...this.#locks.values()].filter(({ lock }) => lock.holders > 0).length
    const waited = this.#locks.size - held
    const head = `${this.#title}   ${held} held${waited > 0 ? `, ${waited} about to be` : ''}   Ctrl-C ends`
    const foot = this.#note === undefined ? [] : [colors.yellow(cutTo(this.#note, columns))]
    // The title, an empty line, the head of the table, a line for the rows that are left out, and the note.
    const room = Math.max(1, height - 4 - foot.length)
    const shown = rows.slice(0, room)
    const more = rows.length > room ? [colors.dim(`... and ${rows.length - room} more`)] : []
    const table = tableLines(rowColumns(this.#terminal), shown, columns, colors.bold)
    return [cutTo(head, columns), '', ...table, ...more, ...foot]
  }

  /** Sorted by key; where not all fit, those that have changed come first. */
  #rows(nowMs: number): readonly Row[] {
    const rows = new Map<string, Row>()
    for (const [key, { change, seen }] of this.#recent)
      rows.set(key, { lock: aged(seen, nowMs), change: change.change })
    for (const [key, seen] of this.#locks) {
      rows.set(key, { lock: aged(seen, nowMs), change: rows.get(key)?.change })
    }
    const room = (this.#terminal.rows ?? 24) - 5
    const first = rows.size > room ? (row: Row): number => (row.change ? 0 : 1) : (): number => 0
    return [...rows.values()].sort(
      (one, other) => first(one) - first(other) || (one.lock.key < other.lock.key ? -1 : 1),
    )
  }
}

/** The lock with its remaining time reduced to the present. */
const aged = ({ lock, atMs }: Seen, nowMs: number): ListedLock =>
  lock.expiresInMs === null ? lock : { ...lock, expiresInMs: Math.max(0, lock.expiresInMs - (nowMs - atMs)) }

function rowColumns({ colors }: Terminal): readonly Column<Row>[] {
  const state: Column<Row> = {
    head: 'STATE',
    of: ({ lock, change }) => change ?? (lock.holders > 0 ? 'held' : 'waiting'),
    paint: (cell, { change, lock }) => painted(change ?? (lock.holders > 0 ? 'held' : 'waiting'), colors)(cell),
  }
  const rest = lockColumns(colors, Date.now()).map(
    ({ of, paint, ...column }): Column<Row> => ({
      ...column,
      of: ({ lock }) => of(lock),
      ...(paint && { paint: (cell: string, { lock }: Row) => paint(cell, lock) }),
    }),
  )
  return [state, ...rest]
}
