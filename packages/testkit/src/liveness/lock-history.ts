import type { Clock, Lease } from '@leasehold/core'
import type { AcquireRequest, LeaseStore } from '@leasehold/core/adapter'
import type { LockChange, LockRecord, RecordedWait, SentRequest, WaitEnd, WaitingFor } from './lock-record.ts'
import { type ObservedCall, observedStore } from './observed-store.ts'

type Noted<T> = { -readonly [P in keyof T]: T[P] }

/**
 * Records what happens to locks, for `livenessFaults` to judge. It stands in two places: in front of the real store,
 * whose answers it takes as the truth about a lock, and between each process and its network.
 *
 * Its times are those of a manual clock. With a real clock they are as late as the answers.
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

  /** Wraps the real store: what it answers has happened. */
  behind(store: LeaseStore): LeaseStore {
    return observedStore(store, async (name, requests, _, call) => {
      const answer = await call()
      const outcomes: readonly unknown[] = [answer].flat()
      for (const [index, request] of requests.entries()) this.#note(name, request, outcomes[index])
      return answer
    })
  }

  /** Wraps the store as a process reaches it. */
  before(store: LeaseStore, process: string): LeaseStore {
    return observedStore(store, async (name, requests, signal, call) => {
      const sent = this.#sent(name, requests, process)
      const end = (answered: boolean): void => {
        for (const request of sent) {
          if (request.endedAtMs === undefined) Object.assign(request, { answered, endedAtMs: this.endMs })
        }
      }
      signal.addEventListener('abort', () => end(false), { once: true })
      const answer = await call()
      end([answer].flat().every((outcome) => typeOf(outcome) !== 'unknown'))
      return answer
    })
  }

  /** Follows a call that wants a lock; its rejection counts as handled. Null means that somebody else has the lock. */
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

  /** Records that the holder gives the lease back now. A loss is noticed without this. */
  left(lease: Lease): void {
    const wait = this.#leases.get(lease)
    if (wait) wait.leftAtMs ??= this.#clock.monotonicMs()
  }

  /** Records what a process sends, except renewals and revocations, which take no part in a wait. */
  #sent(
    name: ObservedCall,
    requests: readonly { readonly key: string; readonly acquisitionId?: string }[],
    process: string,
  ): readonly Noted<SentRequest>[] {
    if (name === 'renew' || name === 'revoke') return []
    const atMs = this.#clock.monotonicMs()
    const sent: Noted<SentRequest>[] = requests.map(({ key }) => ({ name, key, process, atMs, answered: false }))
    for (const { acquisitionId } of requests) {
      if (name === 'acquire' && acquisitionId !== undefined) this.#processes.set(acquisitionId, process)
    }
    this.requests.push(...sent)
    return sent
  }

  #note(name: ObservedCall, request: { readonly key: string }, outcome: unknown): void {
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
    // A repeat finds the grant of the first try, and re-arms it.
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
