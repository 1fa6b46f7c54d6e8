import type { Clock } from '@leasehold/core'
import type {
  AcquireOutcome,
  AcquireRequest,
  CallDeadline,
  CheckOutcome,
  CheckRequest,
  InspectOutcome,
  LeaseStore,
  Refused,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
  RenewRequest,
  RevokeOutcome,
  Unknown,
} from '@leasehold/core/adapter'
import { offerHandOver, offerMany, offerPresence, offerQueue, offerReleaseAfter } from '@leasehold/core/adapter'
import { type HandOverStore, handOverOf, type ResumeOutcome, type ResumeRequest } from '@leasehold/core/hand-over'
import { type AcquireAllOutcome, type AcquireAllRequest, type ManyStore, manyOf } from '@leasehold/core/many'
import { memoryStore } from '@leasehold/core/memory'
import { type PresenceStore, presenceOf } from '@leasehold/core/presence'
import { type QueueStore, queueOf } from '@leasehold/core/queue'
import { releaseAfterOf } from '@leasehold/core/schedule'
import { callUntil } from './call-until.ts'
import { answered, type Fate, type StoreCall, type StoreCallName } from './fate.ts'

/**
 * A store in front of a real one, by default one in memory. It records every call, and a test decides the fate of each.
 * The store behind it decides what a call means.
 *
 * As on a network, a caller that gives up does not call its request back.
 */
export class ScriptedStore implements LeaseStore {
  readonly commandDeadlineMs: number
  /** A test may set it. If set, many requests of one turn leave as two commands. */
  inNextWrite: ((send: () => void) => void) | undefined
  /** Whether no request spans several keys, as on a cluster. A test may set it. */
  apart = false
  readonly calls: StoreCall[] = []

  readonly #behind: LeaseStore
  readonly #clock: Clock
  readonly #next: Map<StoreCallName, Fate[]> = new Map()
  readonly #always: Map<StoreCallName, Fate> = new Map()
  readonly #open: Map<StoreCallName, number> = new Map()
  readonly #mostOpen: Map<StoreCallName, number> = new Map()
  /** The deadline that the real store gets in place of the caller's: as on a network, nobody calls a request back. */
  readonly #call: CallDeadline = callUntil(new AbortController().signal)

  constructor(clock: Clock, behind: LeaseStore = memoryStore({ clock: withoutTimers(clock) })) {
    this.#clock = clock
    this.#behind = behind
    this.commandDeadlineMs = behind.commandDeadlineMs
    const handOver = handOverOf(behind)
    if (handOver) offerHandOver(this, { resume: (request, call) => this.#resume(handOver, request, call) })
    const queue = queueOf(behind)
    if (queue) offerQueue(this, this.#queue(queue))
    const presence = presenceOf(behind)
    if (presence) offerPresence(this, this.#presence(presence))
    const later = releaseAfterOf(behind)
    if (later) {
      offerReleaseAfter(this, {
        releaseAfter: (requests, { signal }) =>
          this.#carry('releaseAfter', requests, signal, () => later.releaseAfter(requests, this.#call)),
      })
    }
    const many = manyOf(behind)
    if (many) {
      offerMany(this, {
        groupsOf: (keys) => (this.apart ? keys.map((key) => [key]) : many.groupsOf(keys)),
        acquireAll: (request, call) => this.#acquireAll(many, request, call),
      })
    }
  }

  /** Sets the fates of the next calls, one each. */
  next(name: StoreCallName, ...fates: readonly Fate[]): void {
    this.#next.set(name, [...(this.#next.get(name) ?? []), ...fates])
  }

  /** Sets the fate of every call for which `next` has set none, until it is called again. */
  always(name: StoreCallName, fate: Fate): void {
    this.#always.set(name, fate)
  }

  /** The calls of that name so far, in order. */
  called(name: StoreCallName): readonly StoreCall[] {
    return this.calls.filter((call) => call.name === name)
  }

  /** The largest number of calls of that name in flight at once: neither answered nor given up. */
  mostAtOnce(name: StoreCallName): number {
    return this.#mostOpen.get(name) ?? 0
  }

  nodeOf(key: string): string {
    return this.#behind.nodeOf(key)
  }

  whenReady(key: string, call: CallDeadline): Promise<Unknown | Refused | undefined> | undefined {
    return this.#behind.whenReady(key, call)
  }

  acquire(requests: readonly AcquireRequest[], call: CallDeadline): Promise<readonly AcquireOutcome[]> {
    return this.#carry('acquire', requests, call.signal, () => this.#behind.acquire(requests, this.#call))
  }

  renew(requests: readonly RenewRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]> {
    return this.#carry('renew', requests, call.signal, () => this.#behind.renew(requests, this.#call))
  }

  release(requests: readonly ReleaseRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]> {
    return this.#carry('release', requests, call.signal, () => this.#behind.release(requests, this.#call))
  }

  checkHolders(requests: readonly CheckRequest[], call: CallDeadline): Promise<readonly CheckOutcome[]> {
    return this.#carry('checkHolders', requests, call.signal, () => this.#behind.checkHolders(requests, this.#call))
  }

  inspect(key: string, call: CallDeadline): Promise<InspectOutcome> {
    return this.#carryOne('inspect', { key }, call.signal, () => this.#behind.inspect(key, this.#call))
  }

  revoke(key: string, call: CallDeadline): Promise<RevokeOutcome> {
    return this.#carryOne('revoke', { key }, call.signal, () => this.#behind.revoke(key, this.#call))
  }

  async #resume(behind: HandOverStore, request: ResumeRequest, { signal }: CallDeadline): Promise<ResumeOutcome> {
    const execute = async (): Promise<[ResumeOutcome]> => [await behind.resume(request, this.#call)]
    return (await this.#carry('resume', [request], signal, execute))[0] as ResumeOutcome
  }

  #queue(behind: QueueStore): QueueStore {
    const on = this.#call
    return {
      acquire: (request, { signal }) =>
        this.#carryOne('queue.acquire', request, signal, () => behind.acquire(request, on)),
      look: (requests, { signal }) => this.#carry('queue.look', requests, signal, () => behind.look(requests, on)),
      leave: (request, { signal }) => this.#carryOne('queue.leave', request, signal, () => behind.leave(request, on)),
      renew: (requests, { signal }) => this.#carry('queue.renew', requests, signal, () => behind.renew(requests, on)),
      release: (requests, { signal }) =>
        this.#carry('queue.release', requests, signal, () => behind.release(requests, on)),
      resize: (key, kind, { signal }) =>
        this.#carryOne('queue.resize', { key }, signal, () => behind.resize(key, kind, on)),
      inspect: (key, { signal }) => this.#carryOne('queue.inspect', { key }, signal, () => behind.inspect(key, on)),
    }
  }

  #presence(behind: PresenceStore): PresenceStore {
    const on = this.#call
    return {
      enter: (request, { signal }) =>
        this.#carryOne('presence.enter', request, signal, () => behind.enter(request, on)),
      renew: (requests, { signal }) =>
        this.#carry('presence.renew', requests, signal, () => behind.renew(requests, on)),
      leave: (requests, { signal }) =>
        this.#carry('presence.leave', requests, signal, () => behind.leave(requests, on)),
      look: (requests, { signal }) => this.#carry('presence.look', requests, signal, () => behind.look(requests, on)),
    }
  }

  async #acquireAll(
    behind: ManyStore,
    request: AcquireAllRequest,
    { signal }: CallDeadline,
  ): Promise<AcquireAllOutcome> {
    const requests = request.locks.map((lock) => ({ ...lock, ttlMs: request.ttlMs }))
    const execute = async (): Promise<[AcquireAllOutcome]> => [await behind.acquireAll(request, this.#call)]
    return (await this.#carry('acquireAll', requests, signal, execute))[0] as AcquireAllOutcome
  }

  async #carryOne<O>(
    name: StoreCallName,
    request: StoreCall['requests'][number],
    signal: AbortSignal,
    execute: () => Promise<O>,
  ): Promise<O | Unknown | Refused> {
    const [outcome] = await this.#carry(name, [request], signal, async () => [await execute()])
    return outcome as O
  }

  #carry<O>(
    name: StoreCallName,
    requests: StoreCall['requests'],
    signal: AbortSignal,
    execute: () => Promise<readonly O[]>,
  ): Promise<readonly (O | Unknown | Refused)[]> {
    this.calls.push({ name, atMs: this.#clock.monotonicMs(), requests })
    const fate = this.#next.get(name)?.shift() ?? this.#always.get(name) ?? answered
    const answer = fate({ clock: this.#clock, requests, signal, execute })
    this.#count(name, answer, signal)
    return answer
  }

  #count(name: StoreCallName, answer: Promise<unknown>, signal: AbortSignal): void {
    const open = (this.#open.get(name) ?? 0) + 1
    this.#open.set(name, open)
    this.#mostOpen.set(name, Math.max(open, this.mostAtOnce(name)))
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      this.#open.set(name, (this.#open.get(name) ?? 1) - 1)
    }
    signal.addEventListener('abort', end, { once: true })
    answer.then(end, end)
  }
}

/** A memory store's timer only frees memory. Without it, a clock's armed timers are those of the code under test. */
const withoutTimers = (clock: Clock): Clock => ({
  monotonicMs: () => clock.monotonicMs(),
  wallMs: () => clock.wallMs(),
  schedule: () => () => undefined,
})
