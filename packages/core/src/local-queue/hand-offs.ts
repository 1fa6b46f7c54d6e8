import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { elapsedMs, type Instant } from '../timing/validity.ts'
import { longestRunMs, mostHandOffs } from './figures.ts'

/**
 * A run of hand-offs: how many hand-offs of one grant this process has made, and when it made the first. When the lock
 * is passed on, the count starts anew but the time keeps running: the lock has not been free.
 */
export class HandOffs {
  #count = 0
  #first: Instant | undefined
  /** The lock has been passed on, so it has not been free since the run began. */
  hasPassed = false

  /** Counts a hand-off. */
  add(now: Instant): void {
    this.#count++
    this.#first ??= now
  }

  /** The lock was passed on. */
  pass(now: Instant): void {
    this.#count = 0
    this.#first ??= now
    this.hasPassed = true
  }

  /** Whether the run has reached its limit in number or in time: then other processes get a chance. */
  isOver(now: Instant): boolean {
    return this.#count >= mostHandOffs || this.isLong(now)
  }

  /**
   * Whether the run has reached its time limit: then other processes that poll get a chance; no release reaches them.
   */
  isLong(now: Instant): boolean {
    return !!this.#first && elapsedMs(now, this.#first) >= longestRunMs
  }
}

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
