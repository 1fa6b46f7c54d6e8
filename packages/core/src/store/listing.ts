import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'
import type { QueueKind } from './queue.ts'

/**
 * An optional port of a store: it lists the store's locks and reads many at once. It changes nothing.
 *
 * A store with millions of other keys answers `find` in pieces, each of them soon, so that nobody else is held up.
 */
export interface ListingStore {
  /**
   * Returns some keys that are held or waited for, or were a moment ago. A key may come more than once.
   *
   * @param pattern only keys that match need to be returned; others may be
   * @param from    where the last call ended; undefined to begin
   */
  find(pattern: string, from: ListingPlace | undefined, call: CallDeadline): Promise<FindOutcome>
  /** Reads each lock, at most 50. */
  read(keys: readonly string[], call: CallDeadline): Promise<readonly ReadOutcome[]>
}

/** How far a search has come. It is opaque: the caller passes it to the next `find` unchanged. */
export interface ListingPlace {
  readonly cursor: string
  /** The nodes still to be searched, the current one first: the store's name for each, and a key that lies on it. */
  readonly nodes: readonly { readonly name: string; readonly key: string }[]
  /** How many times the search has started over because keys moved between nodes. */
  readonly restarts: number
}

export type FindOutcome =
  /** `next` is undefined at the end. */
  | { readonly type: 'found'; readonly keys: readonly string[]; readonly next: ListingPlace | undefined }
  | Unknown
  | Refused

export type ReadOutcome =
  | { readonly type: 'lock'; readonly lock: ListedLock }
  /** Nobody holds it or waits for it, or something else is stored there. */
  | { readonly type: 'none' }
  | Unknown
  | Refused

/** A lock that is held or waited for, as a list shows it. It never contains a token. */
export interface ListedLock {
  readonly key: string
  readonly kind: QueueKind['name']
  /** 1 for `exclusive`. */
  readonly capacity: number
  /** The number of holders; 0 while the next waiter in a queue is about to take the lock. */
  readonly holders: number
  /** The name of the holder, if there is exactly one and it has a name. */
  readonly holder: string | null
  /** The holder's fence; null if there is not exactly one holder, or it is a foreign one. */
  readonly fence: number | null
  /** When the fence was minted, by the store's clock. */
  readonly since: Date | null
  /** Time until the last lease ends, in milliseconds; null if none is known to end. */
  readonly expiresInMs: number | null
  /** Whether nobody holds the lock and it stays taken until it expires: see `holdAtLeast`. */
  readonly isKept: boolean
  /** The number of waiters in its queue. */
  readonly waiting: number
  /** How many processes listen for its release, each for all its waiters; null if the store cannot count them. */
  readonly listeners: number | null
}
