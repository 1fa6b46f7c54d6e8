import type { QueueHolder, QueueInspection } from '../store/queue.ts'
import { writerPermits } from './figures.ts'

/** Who reads or writes now, and who waits. It never contains a token. */
export interface ReadWriteState {
  /** The writer; null if nobody writes. */
  readonly writer: ReadWriteHolder | null
  /**
   * The readers, including a writer that has released its write and kept a nested read. At most 1,000: those whose
   * leases end first.
   */
  readonly readers: readonly ReadWriteHolder[]
  /** The first 100 waiters, in the order in which they are served. */
  readonly waiters: readonly ReadWriteWaiter[]
  /** How many wait. A killed waiter still counts until that is noticed: at most 12 seconds, or 18 over HTTP. */
  readonly waiting: number
}

/** Who reads or writes. */
export interface ReadWriteHolder extends Omit<QueueHolder, 'permits'> {}

/** Who waits to read or to write. */
export interface ReadWriteWaiter {
  readonly mode: 'read' | 'write'
  /** Whether it is next to get the lock: it has been told, and only has to take it. */
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
