/** Read/write locks: many may read at a time, or one may write. */
export { type ReadWriteLock, readWriteLock } from './read-write-lock.ts'
export type {
  ReadLease,
  ReadOptions,
  ReadWork,
  TryReadOptions,
  TryWriteOptions,
  WriteLease,
  WriteOptions,
  WriteWork,
} from './read-write-options.ts'
export type { ReadWriteHolder, ReadWriteState, ReadWriteWaiter } from './read-write-state.ts'
