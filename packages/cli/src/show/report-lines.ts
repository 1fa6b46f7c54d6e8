import { printable } from '../output/printable.ts'
import { type Column, tableLines } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { shownTime } from '../output/times.ts'
import type { LockReport } from './lock-report.ts'

type Holder = LockReport['holders'][number]

/** What `show` prints. */
export function reportLines(
  { key, kind, capacity, isKept, permitsHeld, holders, waiters, waiting, listeners }: LockReport,
  { colors, columns }: Pick<Terminal, 'colors' | 'columns'>,
  nowMs: number,
): readonly string[] {
  const of = kind === 'semaphore' ? ` of ${capacity} permits, ${permitsHeld} held` : ''
  const lines = [`${colors.bold(printable(key))}  ${kind}${of}`, '']
  if (isKept) lines.push('Nobody holds it: its last holder left it taken until it expires.')
  if (holders.length === 0) lines.push('Nobody holds it now. The next in its queue is about to take it.')
  else lines.push(...tableLines(holderColumns(kind, nowMs), holders, columns, colors.bold))
  lines.push('')
  if (waiting > 0) {
    lines.push(`In its queue: ${waiting}`)
    for (const [at, { permits, hasTurn }] of waiters.entries()) {
      const wants = { exclusive: 'waits', 'read-write': readsOrWrites(permits), semaphore: `wants ${permits}` }[kind]
      lines.push(`  ${String(at + 1).padStart(3)}  ${wants}${hasTurn ? `  ${colors.green('has the turn')}` : ''}`)
    }
    if (waiting > waiters.length) lines.push(`  ... and ${waiting - waiters.length} more`)
  } else lines.push('In its queue: nobody')
  lines.push(`Processes that listen for its release: ${listeners ?? 'they cannot be counted here'}`)
  return lines
}

const holderColumns = (kind: LockReport['kind'], nowMs: number): readonly Column<Holder>[] => [
  { head: 'HOLDER', of: ({ holder, fence }) => holder ?? (fence === null ? 'not known' : 'no name'), least: 8 },
  { head: 'FENCE', of: ({ fence }) => (fence === null ? '-' : String(fence)), right: true },
  ...(kind === 'exclusive' ? [] : [{ head: 'PERMITS', of: permitsOf(kind), right: true, spare: 1 }]),
  {
    head: 'HELD FOR',
    of: ({ since }) => (since ? shownTime(nowMs - since.getTime()) : '-'),
    right: true,
    spare: 2,
  },
  {
    head: 'EXPIRES IN',
    of: ({ expiresInMs }) => (expiresInMs === null ? 'never' : shownTime(expiresInMs)),
    right: true,
  },
]

/** A writer has all permits of a read/write lock, and a reader one. */
const readsOrWrites = (permits: number): string => (permits > 1 ? 'writes' : 'reads')

const permitsOf =
  (kind: LockReport['kind']) =>
  ({ permits }: Holder): string =>
    kind === 'read-write' ? readsOrWrites(permits) : String(permits)
