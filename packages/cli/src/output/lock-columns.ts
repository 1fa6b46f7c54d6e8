import type { ListedLock } from '@leasehold/core/listing'
import { printable } from './printable.ts'
import type { Column } from './table.ts'
import type { Colors } from './terminal.ts'
import { shownTime } from './times.ts'

/** A lock that ends within this time, in milliseconds, is about to be free, or its holder does not renew it. */
const soonMs = 2_000

/** The columns of a lock. Ages are by this machine's clock, so a skewed clock shows a wrong age. */
export function lockColumns(colors: Colors, nowMs: number): readonly Column<ListedLock>[] {
  return [
    { head: 'KEY', of: ({ key }) => printable(key), least: 8 },
    { head: 'HOLDER', of: holderOf, least: 8, paint: (cell, lock) => (lock.holders === 0 ? colors.dim(cell) : cell) },
    { head: 'KIND', of: kindOf, spare: 2 },
    { head: 'FENCE', of: ({ fence }) => (fence === null ? '-' : String(fence)), right: true, spare: 3 },
    {
      head: 'HELD FOR',
      of: ({ since, holders }) => (since && holders > 0 ? shownTime(nowMs - since.getTime()) : '-'),
      right: true,
      spare: 1,
    },
    {
      head: 'EXPIRES IN',
      of: ({ expiresInMs, holders, isKept }) => {
        if (expiresInMs !== null) return shownTime(expiresInMs)
        return holders > 0 || isKept ? 'never' : '-'
      },
      right: true,
      paint: (cell, { expiresInMs, holders }) => {
        if (holders > 0 && expiresInMs === null) return colors.red(cell)
        return expiresInMs !== null && expiresInMs < soonMs ? colors.yellow(cell) : cell
      },
    },
    { head: 'WAITING', of: waitingOf, right: true, paint: (cell) => colors.cyan(cell), spare: 0 },
  ]
}

/** Who has it, in a word or two. */
function holderOf({ holders, holder, isKept, fence }: ListedLock): string {
  if (isKept) return `kept after ${holder ?? 'its last holder'}`
  if (holders > 1) return `${holders} holders`
  if (holders === 0) return 'the next in turn'
  return holder ?? (fence === null ? 'not known' : 'no name')
}

const kindOf = ({ kind, capacity }: ListedLock): string => (kind === 'semaphore' ? `semaphore of ${capacity}` : kind)

/** How many waiters are in its queue, or else how many processes, each maybe with many, listen for its release. */
export const waitersOf = ({ waiting, listeners }: ListedLock): number => waiting || (listeners ?? 0)

function waitingOf({ waiting, listeners }: ListedLock): string {
  if (waiting > 0) return String(waiting)
  return listeners ? `${listeners} proc` : '-'
}
