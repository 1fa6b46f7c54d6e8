import type { Locker } from '../locker.ts'
import { checkKey } from '../store/key.ts'
import type { ListedLock } from '../store/listing.ts'
import { mostRead } from './figures.ts'
import { askListing, type Listed, listingContext } from './listing-calls.ts'

/**
 * Reads locks by their keys, in as few requests as the store allows. Locks that nobody holds or waits for are left out.
 *
 * @example
 * ```ts
 * const [lock] = await readLocks(locks, ['order:1'])
 * ```
 *
 * @throws everything that `listLocks` throws, and InvalidOptionError for a bad key
 */
export async function readLocks(
  locks: Locker,
  keys: readonly string[],
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<readonly ListedLock[]> {
  for (const key of keys) checkKey(key)
  const listed = listingContext(locks)
  const found: ListedLock[] = []
  for (let at = 0; at < keys.length; at += mostRead) {
    found.push(...(await readSome(listed, keys.slice(at, at + mostRead), signal)))
  }
  return found
}

/** @param keys at most `mostRead` */
export async function readSome(
  listed: Listed,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly ListedLock[]> {
  const { locks } = await askListing<Read>(listed, signal, async (call) => {
    const outcomes = await listed.listing.read(keys, call)
    // On a cluster, one node may be silent. All are then asked again.
    const unanswered = outcomes.find((outcome) => outcome.type === 'unknown' || outcome.type === 'refused')
    return (
      unanswered ?? { type: 'read', locks: outcomes.flatMap((outcome) => ('lock' in outcome ? [outcome.lock] : [])) }
    )
  })
  return locks
}

interface Read {
  readonly type: 'read'
  readonly locks: readonly ListedLock[]
}
