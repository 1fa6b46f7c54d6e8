import type { AcquireOptions } from '@leasehold/core'

/** The part of a lease that the shop uses. */
export interface Hold {
  readonly fence: number
  readonly signal: AbortSignal
  assertValid(): void
}

/** The part of a locker that the shop uses. `createLocker()` fits, and so does a wrapper around it. */
export interface Locks {
  withLock<T>(key: string, options: AcquireOptions, work: (hold: Hold) => Promise<T>): Promise<T>
}
