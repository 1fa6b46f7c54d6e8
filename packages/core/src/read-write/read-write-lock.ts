import type { Locker } from '../locker.ts'
import { permitsOf } from '../semaphore/permits.ts'
import { checkKey } from '../store/key.ts'
import { ReadWriteCalls } from './read-write-calls.ts'
import type {
  ReadLease,
  ReadOptions,
  ReadWork,
  TryReadOptions,
  TryWriteOptions,
  WriteLease,
  WriteOptions,
  WriteWork,
} from './read-write-options.ts'
import type { ReadWriteState } from './read-write-state.ts'

/**
 * The calls for one read/write lock, made by {@link readWriteLock}. It has no state, so create it where you need it.
 */
export interface ReadWriteLock {
  readonly key: string
  /**
   * Acquires the lock for reading, which many may do at a time. It waits while somebody writes, and behind a writer
   * that came earlier, so a stream of readers does not keep a writer out.
   *
   * A call made under a lease of the same lock must say so with `within`. Without that, it counts as a stranger's, and
   * may have to wait behind a writer that waits for this very caller.
   *
   * @example
   * ```ts
   * await using read = await doc.read({ wait: '5s' })
   * const nested = await doc.read({ within: read }) // at once, whoever waits
   * await nested.release()
   * ```
   *
   * @throws AcquireTimeoutError if somebody was still writing, or waiting to, when the wait or the budget ran out
   * @throws StoreUnavailableError when the store did not answer
   * @throws InvalidOptionError for a bad option
   * @throws LeaseLostError, or LeaseholdError with code `LEASE_RELEASED`, if the lease given as `within` has ended
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key is in use as another kind of lock
   * @throws the signal's own reason when `signal` is aborted
   */
  read(options?: ReadOptions): Promise<ReadLease>
  /**
   * Acquires the lock for writing, which only one may do at a time, while nobody reads.
   *
   * A writer can become a reader without a gap in which others could write: it takes a nested read, and releases the
   * write first. The reverse does not exist: two readers that both wait to write would wait for each other, so a write
   * within a read is refused with an error that names the option.
   *
   * @example
   * ```ts
   * const write = await doc.write()
   * await save({ fence: write.fence })
   * await using read = await doc.read({ within: write })
   * await write.release() // from here on others may read, too
   * ```
   *
   * @throws AcquireTimeoutError if somebody was still reading or writing when the wait or the budget ran out
   * @throws InvalidOptionError for a bad option, such as a read lease as `within`
   * @throws everything else that `read` throws
   */
  write(options?: WriteOptions): Promise<WriteLease>
  /**
   * Acquires the lock for reading if nobody writes or waits. Null means that somebody does.
   *
   * @example
   * ```ts
   * await using read = await doc.tryRead()
   * if (!read) return
   * ```
   *
   * @throws everything that `read` throws, except AcquireTimeoutError
   */
  tryRead(options?: TryReadOptions): Promise<ReadLease | null>
  /**
   * Acquires the lock for writing if nobody reads, writes or waits. Null means that somebody does.
   *
   * @example
   * ```ts
   * await using write = await doc.tryWrite()
   * if (!write) return
   * ```
   *
   * @throws everything that `write` throws, except AcquireTimeoutError
   */
  tryWrite(options?: TryWriteOptions): Promise<WriteLease | null>
  /**
   * Runs work that reads, and gives the lock back whatever happens.
   *
   * @example
   * ```ts
   * const text = await doc.withRead(() => load())
   * ```
   *
   * @throws the work's own error, which wins over every other
   * @throws LeaseLostError if the lease was lost meanwhile; its `result` is what the work returned
   * @throws everything that `read` throws
   */
  withRead<T>(work: ReadWork<T>): Promise<T>
  withRead<T>(options: ReadOptions | undefined, work: ReadWork<T>): Promise<T>
  /**
   * Runs work that writes, and gives the lock back whatever happens.
   *
   * @example
   * ```ts
   * await doc.withWrite({ wait: '5s' }, ({ fence }) => save({ fence }))
   * ```
   *
   * @throws the work's own error, which wins over every other
   * @throws LeaseLostError if the lease was lost meanwhile; its `result` is what the work returned
   * @throws everything that `write` throws
   */
  withWrite<T>(work: WriteWork<T>): Promise<T>
  withWrite<T>(options: WriteOptions | undefined, work: WriteWork<T>): Promise<T>
  /**
   * Returns who reads or writes now, and who waits. It changes nothing.
   *
   * @example
   * ```ts
   * const { writer, readers, waiting } = await doc.inspect()
   * ```
   *
   * @throws StoreUnavailableError when the store did not answer
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key is in use as another kind of lock
   */
  inspect(): Promise<ReadWriteState>
}

/**
 * A read/write lock: many may read at a time, or one may write. They are served in order of arrival, neighboring
 * readers together.
 *
 * Each reader and each writer has a lease with its own expiry, renewal, signal and fence. Fences rise with every grant,
 * including a reader's.
 *
 * @example
 * ```ts
 * const doc = readWriteLock(locks, 'doc:9')
 * const text = await doc.withRead(() => load())
 * await doc.withWrite(({ fence }) => save({ fence }))
 * ```
 *
 * @throws InvalidOptionError for a bad key, or a locker whose store has no queues
 */
export function readWriteLock(locks: Locker, key: string): ReadWriteLock {
  const permits = permitsOf(locks)
  checkKey(key)
  return new ReadWriteCalls(permits, key)
}
