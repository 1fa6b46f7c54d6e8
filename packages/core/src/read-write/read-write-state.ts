import type { QueueHolder, QueueInspection } from '../store/queue.ts'
import { writerPermits } from './figures.ts'

/** Who reads or writes now, and who waits. Never a token. */
export interface ReadWriteState {
  /** Who writes; null if nobody does. */
  readonly writer: ReadWriteHolder | null
  /** Who reads. A writer that let go of its write and kept a nested read is among them. */
  readonly readers: readonly ReadWriteHolder[]
  /** The first 100 in the order in which they are served. */
  readonly waiters: readonly ReadWriteWaiter[]
  /** How many wait. Whoever was killed while waiting is counted until it is found out, 12 seconds at most, or 18 over HTTP. */
  readonly waiting: number
}

/** Who reads or writes. */
export interface ReadWriteHolder extends Omit<QueueHolder, 'permits'> {}

/** Who waits to read or to write. */
export interface ReadWriteWaiter {
  readonly mode: 'read' | 'write'
  /** Whether the lock is its own next: it has been told, and has only to take it. */
  readonly hasTurn: boolean
}

type Found = Extract<QueueInspection, { readonly type: 'state' }>

export function readWriteState({ holders, waiters, waiting }: Found): ReadWriteState {
  const isWriter = ({ permits }: QueueHolder): boolean => permits === writerPermits
  const writer = holders.find(isWriter)
  return {
    writer: writer ? holderOf(writer) : null,
    readers: holders.filter((each) => !isWriter(each)).map(holderOf),
    waiters: waiters.map(({ permits, hasTurn }) => ({ mode: permits === writerPermits ? 'write' : 'read', hasTurn })),
    waiting,
  }
}

const holderOf = ({ holder, fence, expiresInMs }: QueueHolder): ReadWriteHolder => ({ holder, fence, expiresInMs })
