import type { AcquireOptions } from '@leasehold/core'

/** What the service needs of a lease. */
export interface Hold {
  readonly fence: number
  readonly signal: AbortSignal
  assertValid(): void
}

/** What the service needs of a locker: `createLocker()` fits, and so does whatever is put around it. */
export interface Locks {
  withLock<T>(key: string, options: AcquireOptions, work: (hold: Hold) => Promise<T>): Promise<T>
}
