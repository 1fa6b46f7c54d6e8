import type { AcquireOptions, Lease } from '@leasehold/core'

/** The part of a locker that the shop uses. `createLocker()` fits, and so does a wrapper around it. */
export interface Locks {
  withLock<T>(key: string, options: AcquireOptions, work: (lease: Lease) => Promise<T>): Promise<T>
}
