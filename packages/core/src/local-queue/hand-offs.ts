import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { elapsedMs, type Instant } from '../timing/validity.ts'
import { longestRunMs, mostHandOffs } from './figures.ts'

/** A run of hand-offs: how often one grant has been handed off within this process, and since when. */
export class HandOffs {
  #count = 0
  #first: Instant | undefined

  /** Counts one more. */
  add(now: Instant): void {
    this.#count++
    this.#first ??= now
  }

  /** Whether other processes must have a chance now: it was handed off often enough, or for long enough. */
  isOver(now: Instant): boolean {
    return this.#count >= mostHandOffs || (!!this.#first && elapsedMs(now, this.#first) >= longestRunMs)
  }
}

/** Whether a grant is as good for the next holder as a new one from the store. */
export function suits(grant: Grant, { renew, ttlMs, minValidityMs }: Plan, now: Instant): boolean {
  if (!renew || grant.tokenLeft) return false
  if (grant.remainingMs(now) < Math.max(ttlMs / 2, minValidityMs)) return false
  // Nor may a dead holder block others for much longer than the ttl it asked for.
  return grant.expiresInMs(now) <= 2 * ttlMs
}

/** Gives a grant to another holder of this process, with the next fence. The new holder sets `holder`. */
export function giveTo(grant: Grant, { ttlMs }: Plan, now: Instant): void {
  grant.heldSince = now
  grant.ttlMs = ttlMs
  grant.holder = undefined
  grant.holdUntilMs = Infinity
  grant.longHeldAtMs = Infinity
  grant.fence++
}
