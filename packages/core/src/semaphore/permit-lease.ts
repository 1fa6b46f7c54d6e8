import type { Lease } from '../lease/lease.ts'

/** Permits of a semaphore, granted to this caller for a bounded time: one lease, however many permits it has. */
export interface PermitLease extends Lease {
  /** How many permits the lease has. A release gives all of them back. */
  readonly permits: number
}

/** What `withPermit` runs. The permits are given back when it settles. */
export type PermitWork<T> = (lease: PermitLease) => T | Promise<T>

/** Makes a lease say how many permits it has. */
export const withPermits = <L extends Lease>(lease: L, permits: number): L & PermitLease =>
  Object.assign(lease, { permits })
