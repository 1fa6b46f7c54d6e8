import type { ListedLock } from './listing.ts'
import { acquisitionIdOf, parseToken } from './token.ts'

/**
 * What a list shows of a lock's holder.
 *
 * @param value the token of the lock's only holder, a foreign holder's value, or empty
 */
export function shownHolder(value: string): Pick<ListedLock, 'holder' | 'fence' | 'since' | 'isKept'> {
  const { name = null, fence = null } = parseToken(value) ?? {}
  return {
    holder: name,
    fence,
    // A fence is the store's time when it was minted, in microseconds.
    since: fence === null ? null : new Date(fence / 1_000),
    // See `nobodysToken`.
    isKept: /(?:^|\.)0{32}$/.test(acquisitionIdOf(value)),
  }
}
