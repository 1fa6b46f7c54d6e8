import { acquisitionIdOf } from '../../store/token.ts'
import type { LockKeeper } from '../lock-keeper.ts'
import type { LockQueue } from './lock-queue.ts'
import type { PermitHolder } from './permit-holder.ts'

/** Who holds a lock at one moment: one holder, or several. */
export interface Holding {
  /** How many permits are held. */
  readonly permits: number
  /** The holder whose lease ends first; `expiresAtMs` is `Infinity` for a lease without expiry. */
  readonly first: { readonly token: string; readonly expiresAtMs: number } | undefined
  permitsOf(token: string): number
  /** The token of this acquisition, if it has the lock. */
  tokenOf(acquisitionId: string): string | undefined
  /** Extends a lease, and never shortens it. */
  extend(token: string, ttlMs: number): void
  take(request: { readonly acquisitionId: string; readonly ttlMs: number; readonly permits: number }): string
  /** Lowers a holder's permits to this many; with 0 its lease ends, and how it ended is recorded. */
  keep(token: string, permits: number): void
}

/** A lock with one holder, which is the lock's entry, as a plain acquire writes it. */
export function exclusiveHolding({ tables, ...keeper }: LockKeeper, key: string, nowMs: number): Holding {
  const holder = () => tables.locks.get(key, nowMs)
  return {
    get permits() {
      return holder() ? 1 : 0
    },
    get first() {
      const entry = holder()
      return entry && { token: entry.value, expiresAtMs: entry.expiresAtMs }
    },
    permitsOf: (token) => (holder()?.value === token ? 1 : 0),
    tokenOf(acquisitionId) {
      const token = holder()?.value
      return token !== undefined && acquisitionIdOf(token) === acquisitionId ? token : undefined
    },
    extend: (_, ttlMs) => keeper.extend(key, ttlMs, nowMs),
    // The lock is free, and the acquisition is not spent.
    take: ({ acquisitionId, ttlMs }) => keeper.grant({ key, acquisitionId, ttlMs }, 0, nowMs) as string,
    keep(token) {
      tables.locks.delete(key)
      keeper.recordRelease(key, token, nowMs)
    },
  }
}

/** A lock with several holders, which are kept with the queue. A plain lock in their place leaves no permits. */
export function permitHolding(
  { tables, ...keeper }: LockKeeper,
  key: string,
  { holders }: Pick<LockQueue, 'holders'>,
  nowMs: number,
): Holding {
  for (const [id, { expiresAtMs }] of holders) if (expiresAtMs <= nowMs) holders.delete(id)
  const withToken = (token: string): PermitHolder | undefined => {
    const holder = holders.get(acquisitionIdOf(token))
    return holder?.token === token ? holder : undefined
  }
  return {
    get permits() {
      let held = tables.locks.get(key, nowMs) ? Infinity : 0
      for (const { permits } of holders.values()) held += permits
      return held
    },
    get first() {
      const plain = tables.locks.get(key, nowMs)
      let first = plain && { token: plain.value, expiresAtMs: plain.expiresAtMs }
      for (const holder of holders.values()) if (!first || endsBefore(holder, first)) first = holder
      return first
    },
    permitsOf: (token) => withToken(token)?.permits ?? 0,
    tokenOf: (acquisitionId) => holders.get(acquisitionId)?.token,
    extend(token, ttlMs) {
      const holder = withToken(token)
      if (holder) holder.expiresAtMs = Math.max(holder.expiresAtMs, nowMs + ttlMs)
      keeper.extend(key, ttlMs, nowMs)
    },
    take({ acquisitionId, ttlMs, permits }) {
      const token = keeper.mint({ key, acquisitionId, ttlMs }, nowMs)
      holders.set(acquisitionId, { token, permits, expiresAtMs: nowMs + ttlMs })
      return token
    },
    keep(token, permits) {
      const holder = withToken(token)
      if (holder) holder.permits = permits
      if (permits > 0) return
      holders.delete(acquisitionIdOf(token))
      keeper.recordRelease(key, token, nowMs)
    },
  }
}

type Ending = NonNullable<Holding['first']>
const endsBefore = (one: Ending, other: Ending): boolean =>
  one.expiresAtMs === other.expiresAtMs ? one.token < other.token : one.expiresAtMs < other.expiresAtMs
