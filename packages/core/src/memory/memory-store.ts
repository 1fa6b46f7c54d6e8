import { demandObject, refuseUnknown } from '../errors.ts'
import { type Finding, offerFindings } from '../store/finding.ts'
import type {
  AcquireOutcome,
  AcquireRequest,
  CheckOutcome,
  CheckRequest,
  InspectOutcome,
  LeaseStore,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
  RenewRequest,
  RevokeOutcome,
} from '../store/lease-store.ts'
import {
  offerHandOver,
  offerListing,
  offerMany,
  offerPresence,
  offerQueue,
  offerRecords,
  offerReleaseAfter,
  offerRevokeFrom,
} from '../store/offers.ts'
import { acquisitionIdOf, cursorOf, parseToken, randomPart } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { memoryHandOver } from './memory-hand-over.ts'
import { memoryListing } from './memory-listing.ts'
import { memoryMany } from './memory-many.ts'
import { memoryPresence } from './memory-presence.ts'
import { memoryRecords } from './memory-records.ts'
import { memoryReleaseAfter } from './memory-release-after.ts'
import { memoryRevokeFrom } from './memory-revoke-from.ts'
import { memoryQueue } from './queue/memory-queue.ts'
import type { MakeQueue } from './queue/queue-visit.ts'
import { heldBySeveral, notExclusive } from './queue/several-holders.ts'
import { Subscribers } from './subscribers.ts'
import { answer, type Ending, openTables, present, type Tables } from './tables.ts'

/** The only finding: nothing lies between this store and its locks. */
const oneProcess: Finding = {
  code: 'ONE_PROCESS',
  severity: 'info',
  message: 'Locks are kept in the memory of this process: other processes do not see them, and they end with it',
  remedy: 'Where a program runs more than once, use a store over Redis.',
}

export interface MemoryStoreOptions {
  /** Where time comes from; default: the runtime's clock. Its monotonic reading decides what has expired. */
  readonly clock?: Clock | undefined
  /**
   * How long a key's last fence is kept after its last grant or renewal, unless the ttl is longer; default 10 minutes.
   */
  readonly fenceMemory?: Duration | undefined
}

/**
 * Makes a store that keeps leases in the memory of **one process**: for tests, for development, and for programs that
 * never run in two processes. Two processes, each with a memory store of its own, do not exclude each other.
 *
 * It follows the rules of the Redis scripts, request by request. Making one does no I/O, draws no randomness and sets
 * no timer. While it holds entries, one background timer frees those that have expired.
 *
 * @throws InvalidOptionError for a bad duration or an unknown option
 * @example
 * const store = memoryStore()
 * const locks = createLocker({ store, notifier: memoryNotifier(store) })
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  demandObject(options)
  const { clock = systemClock, fenceMemory = '10m', ...rest } = options
  refuseUnknown(rest)
  return new MemoryStore(clock, parseDuration('fenceMemory', fenceMemory), openTables(clock))
}

export class MemoryStore implements LeaseStore {
  /** The store answers at once, but core plans with this bound anyway. */
  readonly commandDeadlineMs = 2_000
  readonly prefix: undefined = undefined

  readonly #clock: Clock
  readonly #fenceMemoryMs: number
  readonly #tables: Tables
  readonly #subscribers: Subscribers = new Subscribers()
  readonly #inboxes: Subscribers = new Subscribers()

  constructor(clock: Clock, fenceMemoryMs: number, tables: Tables, makeQueue?: MakeQueue) {
    this.#clock = clock
    this.#fenceMemoryMs = fenceMemoryMs
    this.#tables = tables
    const keeper: LockKeeper = {
      clock,
      tables,
      inboxes: this.#inboxes,
      grant: ({ key, acquisitionId, ttlMs }, last, nowMs) =>
        this.#grant({ key, acquisitionId, ttlMs, fences: 1 }, last, nowMs),
      extend: (key, ttlMs, nowMs) => this.#extend(key, ttlMs, nowMs),
      mint: ({ key, acquisitionId, ttlMs }, nowMs) => this.#mint({ key, acquisitionId, ttlMs, fences: 1 }, 0, nowMs),
      free: (key, holder, nowMs) => this.#end(key, holder, 'released', nowMs),
      recordRelease: (key, token, nowMs) =>
        this.#recordEnding(key, randomPart(acquisitionIdOf(token)), 'released', nowMs),
      endingOf: (key, acquisitionId, nowMs) => this.#endingOf(key, acquisitionId, nowMs),
      isSpent: (key, acquisitionId, nowMs) => this.#isSpent(key, acquisitionId, nowMs),
      announce: (key, payload) => this.#subscribers.tell(key, payload),
    }
    offerRecords(this, memoryRecords(keeper))
    offerHandOver(this, memoryHandOver(keeper))
    offerQueue(this, memoryQueue(keeper, makeQueue))
    offerMany(this, memoryMany(keeper))
    offerListing(
      this,
      memoryListing(keeper, (key) => this.#subscribers.count(key)),
    )
    offerPresence(this, memoryPresence(keeper))
    offerReleaseAfter(
      this,
      memoryReleaseAfter(keeper, (request) => this.#release(request)),
    )
    offerRevokeFrom(
      this,
      memoryRevokeFrom(keeper, (key) => this.#revoke(key)),
    )
    offerFindings(this, () => [oneProcess])
  }

  nodeOf(): string {
    return ''
  }

  whenReady(): undefined {
    return undefined
  }

  async acquire(requests: readonly AcquireRequest[], call: CallDeadline): Promise<readonly AcquireOutcome[]> {
    return requests.map((request) => answer(call, () => this.#acquire(request)))
  }

  async renew(requests: readonly RenewRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]> {
    return requests.map((request) => answer(call, () => this.#renew(request)))
  }

  async release(requests: readonly ReleaseRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]> {
    return requests.map((request) => answer(call, () => this.#release(request)))
  }

  async checkHolders(requests: readonly CheckRequest[], call: CallDeadline): Promise<readonly CheckOutcome[]> {
    return requests.map(({ key }) => answer(call, () => this.#check(key)))
  }

  async inspect(key: string, call: CallDeadline): Promise<InspectOutcome> {
    return answer(call, () => this.#inspect(key))
  }

  async revoke(key: string, call: CallDeadline): Promise<RevokeOutcome> {
    return answer(call, () => this.#revoke(key))
  }

  /**
   * Listens for `released <fence>` and `revoked <fence>` of one key, as a Redis channel would carry them. They arrive
   * after the call that caused them. Returns a function that stops listening.
   */
  listen(key: string, listener: (payload: string) => void): () => void {
    return this.#subscribers.listen(key, listener)
  }

  /** Listens for `turn <number>` of the waiters of one inbox. Returns a function that stops listening. */
  listenInbox(inbox: string, listener: (payload: string) => void): () => void {
    return this.#inboxes.listen(inbox, listener)
  }

  #acquire(request: AcquireRequest): AcquireOutcome {
    const { key, acquisitionId, ttlMs } = request
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)
    if (holder) {
      if (acquisitionIdOf(holder.value) !== acquisitionId) {
        return { type: 'held', ...present(holder, nowMs), holder: parseToken(holder.value)?.name ?? null }
      }
      // A retry's lease counts from when the retry was sent, so the whole ttl must run from here.
      this.#extend(key, ttlMs, nowMs)
      return { type: 'granted', token: holder.value, fence: Number(cursorOf(holder.value)) }
    }
    if (heldBySeveral(this.#tables, key, nowMs)) return notExclusive()
    const token = this.#grant(request, 0, nowMs)
    return token === undefined ? { type: 'spent' } : { type: 'granted', token, fence: Number(cursorOf(token)) }
  }

  /** Grants a lock that is free, or taken over, with a fence above `least`. Undefined if the acquisition is spent. */
  #grant(request: AcquireRequest, least: number, nowMs: number): string | undefined {
    const { key, acquisitionId, ttlMs } = request
    if (this.#isSpent(key, acquisitionId, nowMs)) return undefined
    const token = this.#mint(request, least, nowMs)
    this.#tables.locks.set(key, token, nowMs + ttlMs, nowMs)
    return token
  }

  #isSpent(key: string, acquisitionId: string, nowMs: number): boolean {
    return this.#tables.fences.get(key, nowMs)?.value.random === randomPart(acquisitionId)
  }

  #mint({ key, acquisitionId, ttlMs, fences }: AcquireRequest, least: number, nowMs: number): string {
    const record = this.#tables.fences.get(key, nowMs)?.value
    const fence = Math.max((record?.last ?? 0) + 1, least + 1, Math.floor(this.#clock.wallMs() * 1_000))
    this.#tables.fences.set(
      key,
      { random: randomPart(acquisitionId), last: fence + fences - 1, ended: record?.ended },
      nowMs + Math.max(ttlMs, this.#fenceMemoryMs),
      nowMs,
    )
    return `${acquisitionId}.${fence}`
  }

  #renew({ key, token, ttlMs }: RenewRequest): RenewOutcome {
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)
    if (!holder) return { type: heldBySeveral(this.#tables, key, nowMs) ? 'superseded' : 'gone' }
    if (holder.value !== token) return { type: 'superseded' }
    this.#extend(key, ttlMs, nowMs)
    return { type: 'renewed' }
  }

  #release(request: ReleaseRequest): ReleaseOutcome {
    const { key } = request
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)?.value
    const mine = 'token' in request ? holder === request.token : acquisitionIdOf(holder ?? '') === request.acquisitionId
    if (holder !== undefined && mine) {
      return { type: 'released', announced: true, subscribers: this.#end(key, holder, 'released', nowMs) }
    }
    const acquisitionId = 'token' in request ? acquisitionIdOf(request.token) : request.acquisitionId
    const ending = this.#endingOf(key, acquisitionId, nowMs)
    if (ending === 'revoked') return { type: 'revoked' }
    if (ending) return { type: 'released', announced: true, subscribers: null }
    if (heldBySeveral(this.#tables, key, nowMs)) return { type: 'superseded', resent: false }
    return { type: holder === undefined ? 'gone' : 'superseded', resent: false }
  }

  /** Frees a lock and records how it ended, for a repeat of the request. Returns how many subscribers are notified. */
  #end(key: string, holder: string, how: Ending['how'], nowMs: number): number {
    this.#tables.locks.delete(key)
    const random = randomPart(acquisitionIdOf(holder))
    // The record is never about a foreign holder.
    if (this.#tables.fences.get(key, nowMs)?.value.random === random) this.#recordEnding(key, random, how, nowMs)
    return this.#subscribers.tell(key, `${how} ${cursorOf(holder)}`)
  }

  #recordEnding(key: string, random: string, how: Ending['how'], nowMs: number): void {
    const record = this.#tables.fences.get(key, nowMs)?.value
    if (record) record.ended = { random, how }
  }

  #endingOf(key: string, acquisitionId: string, nowMs: number): Ending['how'] | undefined {
    const ended = this.#tables.fences.get(key, nowMs)?.value.ended
    return ended?.random === randomPart(acquisitionId) ? ended.how : undefined
  }

  #check(key: string): CheckOutcome {
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)
    const changed = !heldBySeveral(this.#tables, key, nowMs)
    if (!holder) return { type: 'checked', changed, cursor: '-', expiresInMs: null }
    return { type: 'checked', changed: false, ...present(holder, nowMs) }
  }

  #inspect(key: string): InspectOutcome {
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)
    if (heldBySeveral(this.#tables, key, nowMs)) return notExclusive()
    if (!holder) return { type: 'state', state: { held: false } }
    const token = parseToken(holder.value)
    const state = {
      held: true,
      holder: token?.name ?? null,
      fence: token?.fence ?? null,
      // A fence is the wall clock's time when it was minted, in microseconds.
      since: token ? new Date(token.fence / 1_000) : null,
      expiresInMs: present(holder, nowMs).expiresInMs,
    } as const
    return { type: 'state', state }
  }

  #revoke(key: string): RevokeOutcome {
    const nowMs = this.#clock.monotonicMs()
    const holder = this.#tables.locks.get(key, nowMs)
    const several = heldBySeveral(this.#tables, key, nowMs)
    several?.holders.clear()
    if (!holder && !several) return { type: 'free' }
    this.#end(key, holder?.value ?? '', 'revoked', nowMs)
    return { type: 'revoked' }
  }

  /** Extends the lock to the requested ttl, and never shortens it. Its fence record is kept at least as long. */
  #extend(key: string, ttlMs: number, nowMs: number): void {
    this.#tables.locks.extend(key, nowMs + ttlMs, nowMs)
    this.#tables.fences.extend(key, nowMs + Math.max(ttlMs, this.#fenceMemoryMs), nowMs)
  }
}
