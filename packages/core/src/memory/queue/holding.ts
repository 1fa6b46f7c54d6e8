import { acquisitionIdOf } from '../../store/token.ts'
import type { LockKeeper } from '../lock-keeper.ts'
import type { LockQueue } from './lock-queue.ts'

/** Who has a lock at one moment: one holder, or several. */
export interface Holding {
  /** How many permits are held. */
  readonly permits: number
  /** The holder whose lease ends first; `expiresAtMs` is `Infinity` for one without expiry. */
  readonly first: { readonly token: string; readonly expiresAtMs: number } | undefined
  permitsOf(token: string): number
  /** The token of an acquisition that has the lock. */
  tokenOf(acquisitionId: string): string | undefined
  /** Never to less than it has. */
  extend(token: string, ttlMs: number): void
  take(request: { readonly acquisitionId: string; readonly ttlMs: number; readonly permits: number }): string
  /** Keeps so many of its permits; with 0 its lease ends, and how it ended is recorded. */
  keep(token: string, permits: number): void
}

/** The holder is the lock's entry, as a plain acquire writes it. */
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
    // It is free, and its acquisition is not spent.
    take: ({ acquisitionId, ttlMs }) => keeper.grant({ key, acquisitionId, ttlMs }, 0, nowMs) as string,
    keep(token) {
      tables.locks.delete(key)
      keeper.recordRelease(key, token, nowMs)
    },
  }
}

/** The holders are in the queue's own table. A plain lock in their place leaves no permits. */
export function permitHolding(
  { tables, ...keeper }: LockKeeper,
  key: string,
  queue: LockQueue,
  nowMs: number,
): Holding {
  const { holders } = queue
  for (const [token, { expiresAtMs }] of holders) if (expiresAtMs <= nowMs) holders.delete(token)
  return {
    get permits() {
      if (tables.locks.get(key, nowMs)) return Infinity
      return [...holders.values()].reduce((sum, { permits }) => sum + permits, 0)
    },
    get first() {
      const plain = tables.locks.get(key, nowMs)
      if (plain) return { token: plain.value, expiresAtMs: plain.expiresAtMs }
      const ends = [...holders].map(([token, { expiresAtMs }]) => ({ token, expiresAtMs }))
      return ends.sort((a, b) => a.expiresAtMs - b.expiresAtMs || (a.token < b.token ? -1 : 1))[0]
    },
    permitsOf: (token) => holders.get(token)?.permits ?? 0,
    tokenOf: (acquisitionId) => [...holders.keys()].find((token) => acquisitionIdOf(token) === acquisitionId),
    extend(token, ttlMs) {
      const holder = holders.get(token)
      if (holder) holder.expiresAtMs = Math.max(holder.expiresAtMs, nowMs + ttlMs)
      keeper.extend(key, ttlMs, nowMs)
    },
    take({ acquisitionId, ttlMs, permits }) {
      const token = keeper.mint({ key, acquisitionId, ttlMs }, nowMs)
      holders.set(token, { permits, expiresAtMs: nowMs + ttlMs })
      return token
    },
    keep(token, permits) {
      const holder = holders.get(token)
      if (permits > 0 && holder) {
        holder.permits = permits
      } else {
        holders.delete(token)
        keeper.recordRelease(key, token, nowMs)
      }
    },
  }
}
