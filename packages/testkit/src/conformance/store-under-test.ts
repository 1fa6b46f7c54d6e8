import type { LeaseStore } from '@leasehold/core/adapter'

/** A store, opened for the suite, and what an adapter's author has to provide besides it. */
export interface StoreUnderTest {
  readonly store: LeaseStore
  /** Access behind the store's back, so that the suite need not trust what the store says about itself. */
  readonly admin: StoreAdmin
  /**
   * The fence memory that the store was opened with, in milliseconds. The suite waits it out: ten minutes, the default,
   * with a manual clock, but three seconds with a real server. A shorter one would end in the middle of a claim.
   */
  readonly fenceMemoryMs: number
  /** Lets at least `ms` of the store's time pass: moves its manual clock, or really waits, and a little longer. */
  advance(ms: number): Promise<void>
  /** Listens to the announcements of one key; settles once they are heard. */
  listen?(key: string): Promise<Listening>
  /** The same for an inbox, where waiters of a queue hear of their turns. A store without queues needs none. */
  listenInbox?(inbox: string): Promise<Listening>
  /** Sets the store's wall clock back, which must not affect its expiry. */
  setWallClockBack?(ms: number): void
  /** What this store cannot do, or cannot be made to show, and why. The reason is printed with each skipped claim. */
  readonly skip?: Partial<Record<StoreCapability, string>>
  close(): Promise<void>
}

export type StoreCapability =
  /** Somebody else may have a value on the lock's key: `admin.replace`. */
  | 'foreign-holders'
  /** Releases and revokes are announced: `listen`. */
  | 'announcements'
  /** A release reports how many subscribers it reached. */
  | 'subscriber-count'
  /** The store knows when nobody listens to an inbox anymore. */
  | 'inbox-count'
  /** `advance` lets minutes pass at once. */
  | 'long-times'
  /** Grants carry fences. */
  | 'fences'
  /** The store's wall clock can be set: `setWallClockBack`. */
  | 'wall-clock'

export interface StoreAdmin {
  /** Removes the lock's entry, and nothing else of that lock. */
  remove(key: string): Promise<void>
  /** Puts a foreign holder's value on the lock's key, by default one unlike any token. `null` means no expiry. */
  replace(key: string, expiresInMs: number | null, value?: string): Promise<void>
  /** Milliseconds until the lock's entry expires; `null` without expiry, `undefined` without entry. */
  expiresInMs(key: string): Promise<number | null | undefined>
  /** Every entry that belongs to the lock: those whose names contain its key. */
  entriesOf(key: string): Promise<readonly StoreEntry[]>
}

export interface StoreEntry {
  readonly name: string
  /** `null` if it never expires. */
  readonly expiresInMs: number | null
}

export interface Listening {
  /** The payloads heard so far, in order. */
  readonly payloads: readonly string[]
  close(): Promise<void>
}
