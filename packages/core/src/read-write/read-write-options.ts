import { demandObject } from '../errors.ts'
import type { TryAcquireOptions } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import type { AcquireOptions } from '../options.ts'

/** A lease to read. Other readers may have the lock at the same time. */
export interface ReadLease extends Lease {
  readonly mode: 'read'
}

/** A lease to write. Nobody else has the lock at the same time, except calls that are nested in this one. */
export interface WriteLease extends Lease {
  readonly mode: 'write'
}

/** What `withRead` runs. The lease is given back when it settles. */
export type ReadWork<T> = (lease: ReadLease) => T | Promise<T>
/** What `withWrite` runs. The lease is given back when it settles. */
export type WriteWork<T> = (lease: WriteLease) => T | Promise<T>

interface NestedRead {
  /**
   * A lease of this lock under which the caller already runs. With it, the call does not wait: it gets another lease of
   * the same grant, with its expiry, renewal and fence, which the other options do not change.
   */
  readonly within?: ReadLease | WriteLease | undefined
}

interface NestedWrite {
  /** A write lease of this lock under which the caller already runs. As with a nested read, the call does not wait. */
  readonly within?: WriteLease | undefined
}

/** The options of a read. Readers and writers are always queued; `queue` is `fifo()` by default. */
export interface ReadOptions extends AcquireOptions, NestedRead {}
/** The options of a write. Readers and writers are always queued; `queue` is `fifo()` by default. */
export interface WriteOptions extends AcquireOptions, NestedWrite {}
/** The options of `tryRead`, which does not wait. */
export interface TryReadOptions extends TryAcquireOptions, NestedRead {}
/** The options of `tryWrite`, which does not wait. */
export interface TryWriteOptions extends TryAcquireOptions, NestedWrite {}

/**
 * Separates the lease from the options of an acquire.
 *
 * @throws InvalidOptionError for options that are not an object
 */
export function nesting(options: object | undefined): { readonly within: unknown; readonly rest: AcquireOptions } {
  demandObject(options)
  const { within, ...rest } = (options ?? {}) as AcquireOptions & { readonly within?: unknown }
  return { within, rest }
}
