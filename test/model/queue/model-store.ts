import { Call, type LeaseStore } from '@leasehold/core/adapter'
import { MemoryStore } from '../../../packages/core/src/memory/memory-store.ts'
import type { LockQueue } from '../../../packages/core/src/memory/queue/lock-queue.ts'
import { openTables, type Tables } from '../../../packages/core/src/memory/tables.ts'
import { queueOffers } from '../../../packages/core/src/store/offers.ts'
import type { QueueStore } from '../../../packages/core/src/store/queue.ts'
import { AnsweredLeases } from './answered-leases.ts'
import { type Observer, observed, uncounting } from './observed-queue.ts'
import type { Asked, TraceStep } from './trace.ts'

/** The rules of a queue: those of the memory store, or a naive form of one of them. */
export type Rules = typeof LockQueue

export type Verb = Asked['verb']
export type Request<V extends Verb> = Extract<Asked, { readonly verb: V }>['request']
export type Reply<V extends Verb> = Extract<Asked, { readonly verb: V }>['reply']

export const key = 'k'

/** The memory store, with the model's server clock. It records its requests. */
export class ModelStore {
  readonly trace: TraceStep[] = []
  readonly #nowMs: () => number
  readonly #tables: Tables
  readonly #store: MemoryStore & LeaseStore
  readonly #queue: QueueStore
  readonly #answered: AnsweredLeases = new AnsweredLeases()
  readonly #uncounted: boolean

  /** @param uncounted whether subscribers are never counted, as on a cluster */
  constructor(nowMs: () => number, rules: Rules, observer: Observer, uncounted: boolean) {
    this.#nowMs = nowMs
    this.#uncounted = uncounted
    // Its timers only free memory.
    const clock = { monotonicMs: nowMs, wallMs: nowMs, schedule: () => () => undefined }
    this.#tables = openTables(clock)
    const Rules = observed(uncounted ? uncounting(rules) : rules, observer)
    this.#store = new MemoryStore(clock, 600_000, this.#tables, (kind) => new Rules(kind))
    this.#queue = queueOffers.get(this.#store) as QueueStore
  }

  /** Subscribes to the key's channel, or to an inbox. */
  listen(channel: string, listener: (payload: string) => void): () => void {
    if (channel === key) return this.#store.listen(key, listener)
    const stop = this.#store.listenInbox(channel, listener)
    this.trace.push({ type: 'subscribers', inbox: channel, count: this.#uncounted ? 0 : 1 })
    return () => {
      stop()
      this.trace.push({ type: 'subscribers', inbox: channel, count: 0 })
    }
  }

  async ask<V extends Verb>(verb: V, request: Request<V>): Promise<Reply<V>> {
    const nowMs = this.#nowMs()
    const left = this.#tables.locks.get(key, nowMs)
    const lockLeftMs = left ? left.expiresAtMs - nowMs : null
    const reply = (await this.#call(verb, request)) as Reply<V>
    const asked = { verb, request, reply } as Asked
    this.trace.push({ type: 'call', nowMs, lockLeftMs, asked })
    this.#answered.heed(asked, nowMs)
    return reply
  }

  /** How many permits are held by the store's tables and by its answers, how many waiters there are, and the capacity. */
  state(): { readonly held: number; readonly answered: number; readonly waiting: number; readonly capacity: number } {
    const nowMs = this.#nowMs()
    const queue = this.#tables.queues.get(key, nowMs)?.value
    let held = this.#tables.locks.get(key, nowMs) ? 1 : 0
    for (const { permits, expiresAtMs } of queue?.holders.values() ?? []) if (expiresAtMs > nowMs) held += permits
    const answered = this.#answered.held(nowMs)
    return { held, answered, waiting: queue?.length ?? 0, capacity: queue?.kind.capacity ?? 1 }
  }

  async #call(verb: Verb, request: unknown): Promise<unknown> {
    const queue = this.#queue
    const store = this.#store
    // Endless: the model gives up by itself.
    const call = new Call(Infinity)
    if (verb === 'acquire') return queue.acquire(request as never, call)
    if (verb === 'look') return (await queue.look([request as never], call))[0]
    if (verb === 'leave') return queue.leave(request as never, call)
    if (verb === 'renew') return (await queue.renew([request as never], call))[0]
    if (verb === 'release') return (await queue.release([request as never], call))[0]
    if (verb === 'resize') return queue.resize(key, (request as Request<'resize'>).kind, call)
    if (verb === 'plain acquire') return (await store.acquire([request as never], call))[0]
    if (verb === 'plain renew') return (await store.renew([request as never], call))[0]
    return (await store.release([request as never], call))[0]
  }
}
