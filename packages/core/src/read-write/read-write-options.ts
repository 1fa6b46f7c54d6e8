import { demandObject } from '../errors.ts'
import type { TryAcquireOptions } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import type { AcquireOptions } from '../options.ts'

/** A lease that other readers may have beside it. */
export interface ReadLease extends Lease {
  readonly mode: 'read'
}

/** A lease that nobody else has beside it, except for calls that are nested in it. */
export interface WriteLease extends Lease {
  readonly mode: 'write'
}

/** What `withRead` runs. The lease is given back when it has settled. */
export type ReadWork<T> = (lease: ReadLease) => T | Promise<T>
/** What `withWrite` runs. The lease is given back when it has settled. */
export type WriteWork<T> = (lease: WriteLease) => T | Promise<T>

interface NestedRead {
  /**
   * A lease of this lock under which the caller runs already. Then the call does not wait: it gets a further lease of the same
   * grant, with its expiry, renewal and fence, and the other options change nothing.
   */
  readonly within?: ReadLease | WriteLease | undefined
}

interface NestedWrite {
  /** A write lease of this lock under which the caller runs already. The call does not wait, as with a nested read. */
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
 * Takes the lease apart from the options of an acquire.
 *
 * @throws InvalidOptionError for options that are not in an object
 */
export function nesting(options: object | undefined): { readonly within: unknown; readonly rest: AcquireOptions } {
  demandObject(options)
  const { within, ...rest } = (options ?? {}) as AcquireOptions & { readonly within?: unknown }
  return { within, rest }
}
