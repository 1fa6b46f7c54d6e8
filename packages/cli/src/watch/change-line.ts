import { printable } from '../output/printable.ts'
import type { Colors } from '../output/terminal.ts'
import type { ChangeName, LockChange } from './lock-changes.ts'

/** `04:12:33.120  handed-on  order:1  from orders-6 to orders-7 (fence 1764389000000001)`. */
export function changeLine(at: Date, change: LockChange, colors: Colors): string {
  const time = colors.dim(at.toISOString().slice(11, 23))
  return `${time}  ${painted(change.change, colors)(change.change.padEnd(9))}  ${printable(change.key)}  ${details(change)}`
}

function details({ change, holder, fence, holders, waiting, listeners, from }: LockChange): string {
  if (change === 'waiting') {
    if (waiting > 0 || !listeners) return waiting === 1 ? '1 waits' : `${waiting} wait`
    return listeners === 1 ? '1 process listens' : `${listeners} processes listen`
  }
  const who = `${holder ?? (holders > 1 ? `${holders} holders` : 'a holder without a name')}`
  const by = fence === null ? who : `${who} (fence ${fence})`
  if (change === 'handed-on') return `from ${from ?? 'a holder without a name'} to ${by}`
  if (change === 'held' || change === 'released') return `by ${by}`
  return change === 'revoked' ? `from ${by}` : `was ${by}`
}

export const painted = (change: ChangeName, colors: Colors): ((text: string) => string) =>
  ({
    held: colors.green,
    'handed-on': colors.cyan,
    released: colors.dim,
    revoked: colors.yellow,
    lost: colors.red,
    gone: colors.dim,
    waiting: colors.blue,
  })[change]
