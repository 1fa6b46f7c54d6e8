import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import type { Locker } from '../locker.ts'
import type { FindOutcome, ListedLock, ListingPlace } from '../store/listing.ts'
import { mostRead } from './figures.ts'
import { globMatcher } from './glob.ts'
import { askListing, type Listed, listingContext } from './listing-calls.ts'
import { readSome } from './read-locks.ts'

export interface ListOptions {
  /**
   * The keys to list, as a Redis pattern: `*` is any text, `?` one character, `[ab]` one of a set, and `\` goes before
   * a character that stands for itself. Default `*`, all keys.
   */
  readonly pattern?: string | undefined
  /** Ends the list, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Lists the locks in a locker's store that are held or waited for, of every kind and whoever holds them, in no
 * particular order. Each comes once.
 *
 * The list is not a snapshot: a lock that exists from beginning to end is in it, and one that comes or goes meanwhile
 * may be. On a cluster the list covers every node; a lock whose slot moves meanwhile may be missed. It uses `SCAN`, in
 * requests that take about a millisecond each: one for some thousands of keys of the database, and one for 50 locks.
 * Other entries under the prefix are left out, except strings, which look like locks of a foreign holder.
 *
 * @example
 * ```ts
 * for await (const { key, holder, expiresInMs } of listLocks(locks, { pattern: 'order:*' })) console.log(key, holder, expiresInMs)
 * ```
 *
 * @throws StoreUnavailableError if the store did not answer
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
