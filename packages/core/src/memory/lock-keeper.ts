import type { ClaimRequest } from '../store/records.ts'
import type { Clock } from '../timing/clock.ts'
import type { Subscribers } from './subscribers.ts'
import type { Ending, Tables } from './tables.ts'

/** What the other ports need from the store that keeps the locks. */
export interface LockKeeper {
  readonly clock: Clock
  readonly tables: Tables
  /** Where waiters hear of their turns. */
  readonly inboxes: Subscribers
  /** Grants a lock that is free, or taken over, with a fence above `last`. Undefined if the acquisition is spent. */
  grant(request: Asked, last: number, nowMs: number): string | undefined
  /** Mints a token and its fence, and records the grant as the last one. */
  mint(request: Asked, nowMs: number): string
  extend(key: string, ttlMs: number, nowMs: number): void
  /** Frees a lock. Returns how many subscribers are notified. */
  free(key: string, holder: string, nowMs: number): number
  /** Records that a lease was released, for a repeat of the request. */
  recordRelease(key: string, token: string, nowMs: number): void
  /** How a lease ended, if the fence record says so. */
  endingOf(key: string, acquisitionId: string, nowMs: number): Ending['how'] | undefined
  isSpent(key: string, acquisitionId: string, nowMs: number): boolean
  /** Notifies the subscribers of a key. Returns how many there are. */
  announce(key: string, payload: string): number
}

type Asked = Pick<ClaimRequest, 'key' | 'acquisitionId' | 'ttlMs'>
