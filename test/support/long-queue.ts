import { Call, type LeaseStore } from '@leasehold/core/adapter'
import {
  type LeaveOutcome,
  type LookOutcome,
  type QueuedAcquireOutcome,
  type QueueKind,
  type QueueStore,
  queueOf,
} from '@leasehold/core/queue'

/** A waiter: its number, the number of its process, and for how long it keeps a turn if that matters. */
export interface Member {
  readonly process: number
  readonly number: number
  readonly windowMs?: number
}

/** Nothing ends by itself while a test runs. */
const longMs = 1_800_000
/** Holders are numbered apart from waiters. */
const firstHolder = 1_000_000_000

/** The requests that processes would send about one lock, without the processes. */
export class LongQueue {
  readonly #store: LeaseStore
  readonly #queue: QueueStore
  readonly #key: string
  readonly #kind: QueueKind

  constructor(store: LeaseStore, key: string, kind: QueueKind) {
    this.#store = store
    this.#queue = queueOf(store) as QueueStore
    this.#key = key
    this.#kind = kind
  }

  /** The acquire of a waiter that enters, or repeats it. */
  ask({ process, number, windowMs = longMs }: Member): Promise<QueuedAcquireOutcome> {
    const waiter = { inbox: digits(process), number, priorityClass: 0, listens: true, aliveMs: longMs, windowMs }
    return this.#acquire(number, 1, waiter)
  }

  /** Enters many, in order. */
  async enter(members: readonly Member[]): Promise<void> {
    const outcomes = await Promise.all(members.map((member) => this.ask(member)))
    const other = outcomes.find(({ type }) => type !== 'queued')
    if (other) throw new Error(`A waiter was answered: ${other.type}`)
  }

  /** An acquire that does not queue. The holder with the same number repeats it. */
  try(holder: number, permits: number): Promise<QueuedAcquireOutcome> {
    return this.#acquire(firstHolder + holder, permits, undefined)
  }

  /** The same, and nobody else has the lock. Returns the token. */
  async take(holder: number, permits: number): Promise<string> {
    const outcome = await this.try(holder, permits)
    if (outcome.type !== 'granted') throw new Error(`A free lock was refused: ${outcome.type}`)
    return outcome.token
  }

  async look({ process }: Member, numbers: readonly number[]): Promise<LookOutcome> {
    const request = { key: this.#key, inbox: digits(process), aliveMs: longMs, numbers }
    return (await this.#queue.look([request], inTime()))[0] as LookOutcome
  }

  leave({ process, number }: Member): Promise<LeaveOutcome> {
    const [inbox, acquisitionId] = [digits(process), digits(number)]
    return this.#queue.leave({ key: this.#key, inbox, number, acquisitionId }, inTime())
  }

  async renew(token: string): Promise<string | undefined> {
    const store = this.#kind.capacity === 1 ? this.#store : this.#queue
    const [outcome] = await store.renew([{ key: this.#key, token, ttlMs: longMs }], inTime())
    return outcome?.type
  }

  async release(token: string): Promise<string | undefined> {
    const exclusive = this.#kind.capacity === 1
    const [outcome] = await this.#queue.release([{ key: this.#key, exclusive, token, keep: 0 }], inTime())
    return outcome?.type
  }

  async resize(capacity: number): Promise<string> {
    return (await this.#queue.resize(this.#key, { ...this.#kind, capacity }, inTime())).type
  }

  /** How many wait. */
  async waiting(): Promise<number> {
    const state = await this.#queue.inspect(this.#key, inTime())
    if (state.type !== 'state') throw new Error(`An inspection was answered: ${state.type}`)
    return state.waiting
  }

  #acquire(
    number: number,
    permits: number,
    waiter: Parameters<QueueStore['acquire']>[0]['waiter'],
  ): Promise<QueuedAcquireOutcome> {
    const request = { key: this.#key, kind: this.#kind, permits, acquisitionId: digits(number), ttlMs: longMs, waiter }
    return this.#queue.acquire(request, inTime())
  }
}

/** An inbox's name, or an acquisition id. */
const digits = (number: number): string => number.toString(16).padStart(32, '0')

const inTime = (): Call => new Call(60_000)
