import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { elapsedMs, type Instant } from '../timing/validity.ts'
import { briefRunMs, longestRunMs, mostHandOffs } from './figures.ts'

/**
 * A run of hand-offs: how many hand-offs of one grant this process has made, and since when. When the lock is passed on, the
 * count starts anew, but the time since it was last free keeps running.
 */
export class HandOffs {
  /** The most hand-offs in the run while it is brief: as many as the grant has fences for. */
  #most = 0
  #count = 0
  /** When this process made the first hand-off of the grant, and the first since the lock was last free. */
  #begunAt: Instant | undefined
  #notFreeSince: Instant | undefined
  /** The lock has been passed on, so it has not been free since the run began. */
  hasPassed = false

  /**
   * Begins with a new grant.
   *
   * @param fences   how many are reserved with the grant
   * @param passedAt when the lock was passed on; omitted if it was free before
   */
  begin(fences: number, passedAt?: Instant): void {
    this.#most = fences - 1
    this.#count = 0
    this.#begunAt = undefined
    this.#notFreeSince = passedAt && (this.#notFreeSince ?? passedAt)
    this.hasPassed = !!passedAt
  }

  /** Counts a hand-off. */
  add(now: Instant): void {
    this.#count++
    this.#begunAt ??= now
    this.#notFreeSince ??= now
  }

  /** Whether the run has reached its limit in number or in time: then other processes get a chance. */
  isOver(now: Instant): boolean {
    const limit = lasts(this.#begunAt, now, briefRunMs) ? mostHandOffs : this.#most
    return this.#count >= limit || this.isLong(now)
  }

  /**
   * Whether the run has reached its time limit: then other processes that poll get a chance; no release reaches them.
   */
  isLong(now: Instant): boolean {
    return lasts(this.#notFreeSince, now, longestRunMs)
  }
}

const lasts = (since: Instant | undefined, now: Instant, limitMs: number): boolean =>
  !!since && elapsedMs(now, since) >= limitMs

/** Whether a grant serves the next holder as well as a new one from the store would. */
export function suits(grant: Grant, { renew, ttlMs, minValidityMs }: Plan, now: Instant): boolean {
  // A watchdog elsewhere would need to be told about the new holder.
  if (renew !== true || grant.tokenLeft) return false
  if (grant.remainingMs(now) < Math.max(ttlMs / 2, minValidityMs)) return false
  // If the next holder dies, it must not block others for much longer than the ttl that it asked for.
  return grant.expiresInMs(now) <= 2 * ttlMs
}

/** Resets a grant for another holder of this process, with the next fence. The new holder's lease sets `holder`. */
export function giveTo(grant: Grant, { ttlMs }: Plan, now: Instant): void {
  grant.heldSince = now
  grant.ttlMs = ttlMs
  grant.holder = undefined
  grant.holdUntilMs = Infinity
  grant.longHeldAtMs = Infinity
  grant.fence++
}
