import type { Locker } from '@leasehold/core'
import { type ListedLock, listLocks, readLocks } from '@leasehold/core/listing'
import { changesOf, type Ending, hasEnded, type LockChange } from './lock-changes.ts'
import { pause } from './pause.ts'
import type { ReleaseFeed } from './release-feed.ts'

export interface Seen {
  readonly lock: ListedLock
  readonly atMs: number
}

export interface Observation {
  /** The locks as last seen, by key. */
  readonly locks: ReadonlyMap<string, Seen>
  readonly changes: readonly LockChange[]
  /** Why the last look failed; the locks are then from an earlier one. Undefined if it succeeded. */
  readonly trouble: string | undefined
}

export interface ObserverOptions {
  readonly locks: Locker
  readonly pattern: string
  readonly matches: (key: string) => boolean
  /** The pause between two lists, in milliseconds. */
  readonly everyMs: number
  readonly feed: ReleaseFeed
  readonly onLook: (observation: Observation) => void
}

/** The pause after a list lasts at least this many times as long as the list took. */
const restShare = 4
/** The most known locks that are reread between two lists. */
const mostReread = 2_000
/** A holder seen within this time after a release, in milliseconds, counts as the next holder. */
const handOverMs = 1_000
/** The delay between hearing a release and looking at the lock, in milliseconds: by then a waiter has it. */
const settleMs = 30
/** How long after an ending is seen its announcement may still arrive, in milliseconds. */
const announcementMs = 150

/** Looks at the locks repeatedly: at all of them at intervals, and at one as soon as its release is heard. */
export class Observer {
  readonly #options: ObserverOptions
  readonly #known: Map<string, Seen> = new Map()
  /** Locks released so recently that whoever takes one counts as the next holder; the oldest first. */
  readonly #released: Map<string, { readonly holder: string | null; readonly atMs: number }> = new Map()
  #heard: Set<string> = new Set()
  #wake: () => void = () => undefined

  constructor(options: ObserverOptions) {
    this.#options = options
  }

  /** Notes that a release of this key was heard. */
  hear(key: string): void {
    if (!this.#options.matches(key)) return
    this.#heard.add(key)
    this.#wake()
  }

  /**
   * Looks until the signal is aborted.
   *
   * @throws StoreUnavailableError if the first look fails; later failures are reported as trouble
   */
  async run(signal: AbortSignal): Promise<void> {
    for (let first = true; !signal.aborted; first = false) {
      const from = performance.now()
      const listed = await this.#look(() => this.#list(signal), first, signal)
      const restMs = Math.max(this.#options.everyMs, restShare * (performance.now() - from))
      if (listed) await this.#listen(performance.now() + restMs, signal)
      else await pause(restMs, signal)
    }
  }

  /** Until the next list, looks at a lock as soon as its release is heard, and at all known locks every `everyMs`. */
  async #listen(untilMs: number, signal: AbortSignal): Promise<void> {
    let againMs = performance.now() + this.#options.everyMs
    while (!signal.aborted) {
      if (this.#heard.size > 0) await pause(settleMs, signal)
      const known = performance.now() >= againMs ? [...this.#known.keys()].slice(0, mostReread) : []
      const keys = new Set([...known, ...this.#heard])
      this.#heard = new Set()
      if (keys.size > 0) await this.#look(() => this.#read([...keys], signal), false, signal)
      const nowMs = performance.now()
      if (nowMs >= untilMs) return
      if (nowMs >= againMs) againMs = nowMs + this.#options.everyMs
      await pause(Math.min(untilMs, againMs) - nowMs, signal, (wake) => {
        this.#wake = wake
        if (this.#heard.size > 0) wake()
      })
    }
  }

  async #look(look: () => Promise<readonly LockChange[]>, first: boolean, signal: AbortSignal): Promise<boolean> {
    try {
      const changes = await look()
      this.#options.onLook({ locks: this.#known, changes, trouble: undefined })
      return true
    } catch (error) {
      if (signal.aborted) return false
      if (first) throw error
      const trouble = error instanceof Error ? error.message : String(error)
      this.#options.onLook({ locks: this.#known, changes: [], trouble })
      return false
    }
  }

  async #list(signal: AbortSignal): Promise<readonly LockChange[]> {
    const { locks, pattern } = this.#options
    const now = new Map<string, Seen>()
    for await (const lock of listLocks(locks, { pattern, signal })) now.set(lock.key, { lock, atMs: performance.now() })
    return this.#compare(new Set([...this.#known.keys(), ...now.keys()]), now, signal)
  }

  async #read(keys: readonly string[], signal: AbortSignal): Promise<readonly LockChange[]> {
    const found = await readLocks(this.#options.locks, keys, { signal })
    const now = new Map(found.map((lock) => [lock.key, { lock, atMs: performance.now() }]))
    return this.#compare(keys, now, signal)
  }

  async #compare(
    keys: Iterable<string>,
    now: ReadonlyMap<string, Seen>,
    signal: AbortSignal,
  ): Promise<readonly LockChange[]> {
    const isUnexplained = (key: string): boolean => {
      const before = this.#known.get(key)
      return hasEnded(before?.lock, now.get(key)?.lock) && before !== undefined && this.#endingOf(before) === undefined
    }
    const all = [...keys]
    // The announcement comes over another connection, and may arrive after the answer that shows the ending.
    if (all.some(isUnexplained)) await pause(announcementMs, signal)
    const changes: LockChange[] = []
    for (const key of all) {
      const [before, seen] = [this.#known.get(key), now.get(key)]
      const found = changesOf(before?.lock, seen?.lock, before && this.#endingOf(before))
      changes.push(...found.map((change) => this.#joined(change)))
      if (seen) this.#known.set(key, seen)
      else this.#known.delete(key)
    }
    return changes
  }

  /** Joins a release and the grant that follows it, which may be seen in different looks. */
  #joined(change: LockChange): LockChange {
    const { key, holder } = change
    const nowMs = performance.now()
    for (const [before, { atMs }] of this.#released) {
      if (nowMs - atMs <= handOverMs) break
      this.#released.delete(before)
    }
    if (change.change !== 'held' && change.change !== 'released') return change
    const released = this.#released.get(key)
    // Deleted even if it is set again below, so that the oldest stay first.
    this.#released.delete(key)
    if (change.change === 'held') return released ? { ...change, change: 'handed-on', from: released.holder } : change
    this.#released.set(key, { holder, atMs: nowMs })
    return change
  }

  /** A release that gives the turn to a waiter is announced to that waiter alone: then only a past expiry is a loss. */
  #endingOf({ lock, atMs }: Seen): Ending | 'unheard' | undefined {
    const heard = this.#options.feed.endingOf(lock, atMs)
    if (heard !== undefined || lock.waiting === 0) return heard
    const leftMs = (lock.expiresInMs ?? Infinity) - (performance.now() - atMs)
    return leftMs > 0 ? 'released' : undefined
  }
}
