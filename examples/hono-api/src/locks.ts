import type { AcquireOptions } from '@leasehold/core'

/** What the service needs of a lease. */
export interface Hold {
  readonly fence: number | null
  readonly signal: AbortSignal
  assertValid(): void
}

/** What the service needs of a locker: `createLocker()` fits, and so does whatever is put around it. */
export interface Locks {
  withLock<T>(key: string, work: (hold: Hold) => Promise<T>, options?: AcquireOptions): Promise<T>
}

/** Both stores of this service mint fences; a store that cannot is no store for data that is guarded by them. */
export function fenceOf(hold: Pick<Hold, 'fence'>): number {
  if (hold.fence === null) throw new Error('The lease store mints no fences; use one that does')
  return hold.fence
}
