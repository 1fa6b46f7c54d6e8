import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import type { Locker } from '../locker.ts'
import type { FindOutcome, ListedLock, ListingPlace } from '../store/listing.ts'
import { mostRead } from './figures.ts'
import { globMatcher } from './glob.ts'
import { askListing, type Listed, listingContext } from './listing-calls.ts'
import { readSome } from './read-locks.ts'

export interface ListOptions {
  /**
   * Which keys, as a pattern of Redis: `*` any text, `?` one character, `[ab]` one of some, `\` before a character that stands for
   * itself. Default `*`, all.
   */
  readonly pattern?: string | undefined
  /** Ends the list, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Lists the locks of a locker's store that are held or waited for, of every kind and whoever holds them, in no order. Each comes once.
 *
 * The list is no snapshot: a lock that is there from the beginning to the end is in it, and one that comes or goes meanwhile may be.
 * On a cluster it goes through every node; a lock whose slot moves meanwhile may be missed. Redis is asked by `SCAN`, in requests
 * that take a millisecond or two each, one for some 5,000 keys of the database. What else the prefix covers is left out, except
 * strings: they look like locks of a foreign holder.
 *
 * @example
 * ```ts
 * for await (const { key, holder, expiresInMs } of listLocks(locks, { pattern: 'order:*' })) console.log(key, holder, expiresInMs)
 * ```
 *
 * @throws StoreUnavailableError when the store did not answer
 * @throws InvalidOptionError for a bad pattern, or a locker whose store cannot list its locks
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 */
export async function* listLocks(
  locks: Locker,
  options: ListOptions = {},
): AsyncGenerator<ListedLock, void, undefined> {
  demandObject(options)
  const { pattern = '*', signal, ...rest } = options
  refuseUnknown(rest)
  demandOption(typeof pattern === 'string' && pattern !== '', 'pattern', 'text such as "order:*"', pattern)
  const listed = listingContext(locks)
  const matches = globMatcher(pattern)
  const seen = new Set<string>()
  let unread: string[] = []
  let place: ListingPlace | undefined
  do {
    const part = await nextPart(listed, pattern, place, signal)
    for (const key of part.keys) {
      if (seen.has(key) || !matches(key)) continue
      seen.add(key)
      unread.push(key)
    }
    place = part.next
    const isLast = place === undefined
    while (unread.length >= mostRead || (isLast && unread.length > 0)) {
      const some = unread.slice(0, mostRead)
      unread = unread.slice(mostRead)
      yield* await readSome(listed, some, signal)
    }
  } while (place)
}

const nextPart = (
  listed: Listed,
  pattern: string,
  place: ListingPlace | undefined,
  signal: AbortSignal | undefined,
): Promise<Extract<FindOutcome, { readonly type: 'found' }>> =>
  askListing(listed, signal, (call) => listed.listing.find(pattern, place, call))
