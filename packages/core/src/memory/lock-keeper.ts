import type { ClaimRequest } from '../store/records.ts'
import type { Clock } from '../timing/clock.ts'
import type { Tables } from './tables.ts'

/** What further ports need of the store that keeps the locks. */
export interface LockKeeper {
  readonly clock: Clock
  readonly tables: Tables
  /** Grants a lock that is free, or taken over, with a fence above `last`. Undefined if the acquisition is spent. */
  grant(request: Pick<ClaimRequest, 'key' | 'acquisitionId' | 'ttlMs'>, last: number, nowMs: number): string | undefined
  extend(key: string, ttlMs: number, nowMs: number): void
  /** Frees a lock, and answers how many were told. */
  free(key: string, holder: string, nowMs: number): number
}
