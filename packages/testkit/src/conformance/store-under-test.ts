import type { LeaseStore } from '@leasehold/core/adapter'

/** A store, opened for the suite, and what an adapter's author has to provide beside it. */
export interface StoreUnderTest {
  readonly store: LeaseStore
  /** Access behind the store's back, so that the suite does not have to believe what the store says of itself. */
  readonly admin: StoreAdmin
  /**
   * The fence memory the store was opened with, in milliseconds. The suite lets it pass: the default of ten minutes is
   * right with a manual clock, three seconds with a real server; not less, or it ends in the middle of a claim.
   */
  readonly fenceMemoryMs: number
  /** Lets at least `ms` of the store's time pass: moves its manual clock, or really waits, and a little longer. */
  advance(ms: number): Promise<void>
  /** Begins to listen to the announcements of one key; settles when they are being heard. */
  listen?(key: string): Promise<Listening>
  /** The same for an inbox, where waiters of a queue hear of their turns. A store without queues needs none. */
  listenInbox?(inbox: string): Promise<Listening>
  /** Sets the store's wall clock back; its expiry is not to notice. */
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
  /** A release knows how many subscribers it reached. */
  | 'subscriber-count'
  /** Of an inbox that nobody listens to any more, the store knows it. */
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
  /** Puts a foreign holder's value there, by default one that is like no token; without expiry for `null`. */
  replace(key: string, expiresInMs: number | null, value?: string): Promise<void>
  /** Milliseconds until the lock's entry expires, `null` without expiry, `undefined` without entry. */
  expiresInMs(key: string): Promise<number | null | undefined>
  /** Every entry that belongs to the lock: those whose name has its key in it. */
  entriesOf(key: string): Promise<readonly StoreEntry[]>
}

export interface StoreEntry {
  readonly name: string
  /** `null`: it stays for ever. */
  readonly expiresInMs: number | null
}

export interface Listening {
  /** The payloads heard so far, in order. */
  readonly payloads: readonly string[]
  close(): Promise<void>
}
