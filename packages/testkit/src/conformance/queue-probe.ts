import {
  type LeaveRequest,
  type LookOutcome,
  type QueuedAcquireOutcome,
  type QueuedAcquireRequest,
  type QueuedWaiter,
  type QueueInspection,
  type QueueKind,
  type QueueStore,
  queueOf,
  type ReleasePermitsRequest,
} from '@leasehold/core/queue'
import { expect, it, type TestContext } from 'vitest'
import { callUntil } from '../call-until.ts'
import { longMs, type Probe } from './probe.ts'

export const exclusive: QueueKind = { name: 'exclusive', capacity: 1 }
export const semaphoreOf = (capacity: number): QueueKind => ({ name: 'semaphore', capacity })
export const readWrite: QueueKind = { name: 'read-write', capacity: 1_000_000 }

type Granted = Extract<QueuedAcquireOutcome, { readonly type: 'granted' }>
type Queued = Extract<QueuedAcquireOutcome, { readonly type: 'queued' }>
type Looked = Extract<LookOutcome, { readonly type: 'looked' }>
type State = Extract<QueueInspection, { readonly type: 'state' }>
/** A request. By default it asks for one permit of an exclusive lock, with a long ttl, and does not wait. */
export type Asked = Pick<QueuedAcquireRequest, 'key'> & Partial<QueuedAcquireRequest>

/** What a claim about queues works with: requests one at a time, with defaults for what the claim does not specify. */
export class QueueProbe {
  readonly #probe: Probe

  constructor(probe: Probe) {
    this.#probe = probe
  }

  /** Defines a claim that is skipped if the store has no queues. */
  readonly claim = (name: string, test: (context: TestContext) => Promise<void>): void =>
    it(name, async (context) => {
      if (!queueOf(this.#probe.store)) context.skip('queues: the store does not offer them')
      await test(context)
    })

  /** An inbox, and the waiters that name it. Nobody listens to it unless the claim does. */
  inbox(wish: Partial<QueuedWaiter> = {}): { readonly name: string; waiter(number: number): QueuedWaiter } {
    const name = this.#probe.acquisitionId()
    const usual = { priorityClass: 0, listens: true, aliveMs: longMs, windowMs: longMs / 2 }
    return { name, waiter: (number) => ({ ...usual, inbox: name, ...wish, number }) }
  }

  request(asked: Asked): QueuedAcquireRequest {
    const acquisitionId = this.#probe.acquisitionId()
    return { kind: exclusive, permits: 1, acquisitionId, ttlMs: longMs, waiter: undefined, ...asked }
  }

  ask(request: QueuedAcquireRequest, signal: AbortSignal = this.#probe.signal): Promise<QueuedAcquireOutcome> {
    return this.#queue.acquire(request, callUntil(signal))
  }

  /** Takes a lock that must be free, or whose turn the waiter must have. */
  async take(asked: Asked): Promise<Granted> {
    const outcome = await this.ask(this.request(asked))
    expect(outcome).toMatchObject({ type: 'granted' })
    return outcome as Granted
  }

  /** Enters the queue, and resolves to the outcome, with the request that takes the lock later. */
  async enter(asked: Asked): Promise<Queued & { readonly request: QueuedAcquireRequest }> {
    const request = this.request(asked)
    const outcome = await this.ask(request)
    expect(outcome).toMatchObject({ type: 'queued' })
    return { ...(outcome as Queued), request }
  }

  async look(key: string, inbox: string, numbers: readonly number[], aliveMs: number = longMs): Promise<Looked> {
    const [outcome] = await this.#queue.look([{ key, inbox, aliveMs, numbers }], callUntil(this.#probe.signal))
    expect(outcome).toMatchObject({ type: 'looked' })
    return outcome as Looked
  }

  async leave(request: LeaveRequest): Promise<string> {
    return (await this.#queue.leave(request, callUntil(this.#probe.signal))).type
  }

  async renew(key: string, token: string, ttlMs: number = longMs): Promise<string | undefined> {
    const [outcome] = await this.#queue.renew([{ key, token, ttlMs }], callUntil(this.#probe.signal))
    return outcome?.type
  }

  /** Ends a lease of an exclusive lock, unless the claim says otherwise. */
  async release(
    request: Pick<ReleasePermitsRequest, 'key' | 'token'> & Partial<ReleasePermitsRequest>,
  ): Promise<string | undefined> {
    const whole = { exclusive: true, keep: 0, ...request }
    return (await this.#queue.release([whole], callUntil(this.#probe.signal)))[0]?.type
  }

  async resize(key: string, kind: QueueKind): Promise<string> {
    return (await this.#queue.resize(key, kind, callUntil(this.#probe.signal))).type
  }

  async state(key: string): Promise<State> {
    const outcome = await this.#queue.inspect(key, callUntil(this.#probe.signal))
    expect(outcome).toMatchObject({ type: 'state' })
    return outcome as State
  }

  get #queue(): QueueStore {
    return queueOf(this.#probe.store) as QueueStore
  }
}
