import type { Clock, Lease } from '@leasehold/core'
import type { AcquireRequest, LeaseStore } from '@leasehold/core/adapter'

/** What a store did with a lock. An expiry is not told: it follows from the times. */
export type LockChange =
  | {
      readonly type: 'granted'
      readonly key: string
      readonly atMs: number
      readonly expiresAtMs: number
      /** Whose request it was. */
      readonly process: string
      /** The fences reserved with the grant: each lease of it has one of them. */
      readonly fence: number
      readonly fences: number
    }
  | { readonly type: 'extended'; readonly key: string; readonly atMs: number; readonly expiresAtMs: number }
  | { readonly type: 'released' | 'revoked'; readonly key: string; readonly atMs: number }

/** A request of a process, as that process saw it. */
export interface SentRequest {
  readonly name: 'acquire' | 'inspect' | 'release'
  readonly key: string
  readonly process: string
  readonly atMs: number
  /** When it was answered or given up; undefined while neither. */
  readonly endedAtMs?: number
  readonly answered: boolean
}

/** What is known of a call that wants a lock before it ends. */
export interface WaitingFor {
  readonly key: string
  readonly process: string
  /** How long it may take; 0 for a call that does not wait. */
  readonly waitMs: number
  /** How long it would go without asking the store if it were alone: see `patienceMs`. */
  readonly patienceMs: number
}

/** Busy: told that somebody else had the lock. Unavailable: told that the store did not answer. */
export type WaitEnd = 'granted' | 'busy' | 'aborted' | 'unavailable' | 'failed'

/** A call that wants a lock, from beginning to end. */
export interface RecordedWait extends WaitingFor {
  readonly sinceMs: number
  readonly abortedAtMs?: number
  readonly endedAtMs?: number
  readonly end?: WaitEnd
  /** Of the lease, if there is one. */
  readonly fence?: number | null
  /** When it was given back or lost. */
  readonly leftAtMs?: number
}

/** What happened to locks, and to those who wanted them. Each list is in the order of its times. */
export interface LockRecord {
  readonly changes: readonly LockChange[]
  readonly requests: readonly SentRequest[]
  readonly waits: readonly RecordedWait[]
  /** When the record was closed. */
  readonly endMs: number
}

type Noted<T> = { -readonly [P in keyof T]: T[P] }

/** Makes a store's call, and does something before and after it. What a call answers is one outcome, or a list of them. */
type Around = <O>(
  name: 'acquire' | 'renew' | 'release' | 'inspect' | 'revoke',
  requests: readonly { readonly key: string }[],
  signal: AbortSignal,
  call: () => Promise<O>,
) => Promise<O>

/**
 * Writes down what happens to locks, for `livenessFaults` to judge. It stands at two places: before the real store, whose
 * answers it takes for what is true of a lock, and between each process and its network.
 *
 * Its times are those of a manual clock. With a real one they are as late as the answers.
 */
export class LockHistory implements LockRecord {
  readonly changes: LockChange[] = []
  readonly requests: SentRequest[] = []
  readonly waits: RecordedWait[] = []
  readonly #clock: Clock
  readonly #processes: Map<string, string> = new Map()
  readonly #entries: Map<string, { readonly acquisitionId: string; expiresAtMs: number }> = new Map()
  readonly #leases: WeakMap<Lease, Noted<RecordedWait>> = new WeakMap()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get endMs(): number {
    return this.#clock.monotonicMs()
  }

  /** The real store: what it answers has happened. */
  behind(store: LeaseStore): LeaseStore {
    return around(store, async (name, requests, _, call) => {
      const answer = await call()
      const outcomes: readonly unknown[] = [answer].flat()
      for (const [index, request] of requests.entries()) this.#note(name, request, outcomes[index])
      return answer
    })
  }

  /** The store as a process reaches it. */
  before(store: LeaseStore, process: string): LeaseStore {
    return around(store, async (name, requests, signal, call) => {
      const atMs = this.#clock.monotonicMs()
      const noted: Noted<SentRequest>[] = []
      if (name === 'acquire' || name === 'inspect' || name === 'release') {
        for (const { key } of requests) noted.push({ name, key, process, atMs, answered: false })
      }
      for (const request of requests) {
        const { acquisitionId } = request as { acquisitionId?: string }
        if (name === 'acquire' && acquisitionId !== undefined) this.#processes.set(acquisitionId, process)
      }
      this.requests.push(...noted)
      const end = (answered: boolean): void => {
        for (const request of noted) {
          if (request.endedAtMs === undefined)
            Object.assign(request, { answered, endedAtMs: this.#clock.monotonicMs() })
        }
      }
      signal.addEventListener('abort', () => end(false), { once: true })
      const answer = await call()
      end([answer].flat().every((outcome) => typeOf(outcome) !== 'unknown'))
      return answer
    })
  }

  /** Follows a call that wants a lock; what it rejects with counts as handled. Null means that somebody has the lock. */
  follow(call: Promise<Lease | null>, waitingFor: WaitingFor, signal?: AbortSignal): void {
    const wait: Noted<RecordedWait> = { ...waitingFor, sinceMs: this.#clock.monotonicMs() }
    this.waits.push(wait)
    signal?.addEventListener('abort', () => {
      wait.abortedAtMs ??= this.#clock.monotonicMs()
    })
    const ended = (end: WaitEnd): void => {
      wait.end = end
      wait.endedAtMs = this.#clock.monotonicMs()
    }
    call.then(
      (lease) => {
        ended(lease ? 'granted' : 'busy')
        if (!lease) return
        wait.fence = lease.fence
        this.#leases.set(lease, wait)
        if (lease.signal.aborted) this.left(lease)
        else lease.signal.addEventListener('abort', () => this.left(lease))
      },
      (error: unknown) => ended(signal?.aborted && error === signal.reason ? 'aborted' : endOf(error)),
    )
  }

  /** Its holder gives the lease back now. A loss is noticed without this. */
  left(lease: Lease): void {
    const wait = this.#leases.get(lease)
    if (wait) wait.leftAtMs ??= this.#clock.monotonicMs()
  }

  #note(name: Parameters<Around>[0], request: { readonly key: string }, outcome: unknown): void {
    const { key } = request
    const {
      acquisitionId,
      token,
      ttlMs = 0,
      fences = 1,
    } = request as Partial<AcquireRequest> & { readonly token?: string }
    const atMs = this.#clock.monotonicMs()
    const entry = this.#entries.get(key)
    const present = entry && entry.expiresAtMs > atMs ? entry : undefined
    const mine = present && (token?.startsWith(`${present.acquisitionId}.`) ?? acquisitionId === present.acquisitionId)
    const type = typeOf(outcome)
    // A repeat finds what the first try was granted, and re-arms it.
    if (present && mine && (type === 'granted' || type === 'renewed')) {
      present.expiresAtMs = Math.max(present.expiresAtMs, atMs + ttlMs)
      this.changes.push({ type: 'extended', key, atMs, expiresAtMs: present.expiresAtMs })
    } else if (type === 'granted' && acquisitionId !== undefined) {
      const { fence } = outcome as { readonly fence: number }
      const expiresAtMs = atMs + ttlMs
      this.#entries.set(key, { acquisitionId, expiresAtMs })
      const process = this.#processes.get(acquisitionId) ?? ''
      this.changes.push({ type, key, atMs, expiresAtMs, process, fence, fences })
    } else if ((type === 'released' && mine) || (type === 'revoked' && name === 'revoke')) {
      // A repeated release may be answered like the first though somebody else has the lock by now.
      this.#entries.delete(key)
      this.changes.push({ type, key, atMs })
    }
  }
}

const typeOf = (outcome: unknown): unknown => (outcome as { readonly type?: unknown } | undefined)?.type

function endOf(error: unknown): WaitEnd {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (code === 'ACQUIRE_TIMEOUT') return 'busy'
  return code === 'STORE_UNAVAILABLE' ? 'unavailable' : 'failed'
}

const around = (store: LeaseStore, run: Around): LeaseStore => ({
  commandDeadlineMs: store.commandDeadlineMs,
  prefix: store.prefix,
  nodeOf: (key) => store.nodeOf(key),
  acquire: (requests, call) => run('acquire', requests, call.signal, () => store.acquire(requests, call)),
  renew: (requests, call) => run('renew', requests, call.signal, () => store.renew(requests, call)),
  release: (requests, call) => run('release', requests, call.signal, () => store.release(requests, call)),
  checkHolders: (requests, call) => store.checkHolders(requests, call),
  inspect: (key, call) => run('inspect', [{ key }], call.signal, () => store.inspect(key, call)),
  revoke: (key, call) => run('revoke', [{ key }], call.signal, () => store.revoke(key, call)),
})
