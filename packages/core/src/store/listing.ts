import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, Unknown } from './lease-store.ts'
import type { QueueKind } from './queue.ts'

/**
 * A further port, which a store may offer: it names its locks, and reads many at once. It changes nothing.
 *
 * A store with millions of other keys answers `find` piece by piece, and each piece soon, so that nobody else is held up.
 */
export interface ListingStore {
  /**
   * Names some keys that are held or waited for, or were a moment ago. A key may come more than once.
   *
   * @param pattern only keys that match need to come; others may
   * @param from    where the last call ended; undefined to begin
   */
  find(pattern: string, from: ListingPlace | undefined, call: CallDeadline): Promise<FindOutcome>
  /** Reads each lock, at most 200. */
  read(keys: readonly string[], call: CallDeadline): Promise<readonly ReadOutcome[]>
}

/** Where a search stands. It is the store's own: whoever searches passes it on as it is. */
export interface ListingPlace {
  readonly cursor: string
  /** The nodes that are still to be searched, the first of them at present: what the store calls it, and a key that lies on it. */
  readonly nodes: readonly { readonly name: string; readonly key: string }[]
  /** How often the search began again, because keys moved between nodes. */
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

/** A lock that is held or waited for, as a list shows it. Never a token. */
export interface ListedLock {
  readonly key: string
  readonly kind: QueueKind['name']
  /** 1 for `exclusive`. */
  readonly capacity: number
  /** How many have a lease; 0 while the next in a queue is about to take it. */
  readonly holders: number
  /** The name of the holder, if there is one, and it has one. */
  readonly holder: string | null
  /** That of the holder; null if there is not exactly one, or it is a foreign one. */
  readonly fence: number | null
  /** When the fence was minted, by the store's clock. */
  readonly since: Date | null
  /** Until the last lease ends, in milliseconds; null for none that is known to end. */
  readonly expiresInMs: number | null
  /** Nobody holds it, and it stays taken until it expires: see `holdAtLeast`. */
  readonly isKept: boolean
  /** How many wait in its queue. */
  readonly waiting: number
  /** How many processes listen for its release, each for all of its waiters; null if the store cannot count them. */
  readonly listeners: number | null
}
