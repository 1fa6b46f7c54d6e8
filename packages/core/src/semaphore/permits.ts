import type { Context } from '../context.ts'
import { demandOption } from '../errors.ts'
import { KeyCalls, type Shared, sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import type { AcquireOptions, CallSettings } from '../options.ts'
import { queueOf } from '../queue/queue-of.ts'
import { queuedCalls } from '../queue/queued-calls.ts'
import { answered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import { kindMismatch } from '../store/kind-mismatch.ts'
import type { QueueInspection, QueueKind, QueueStore, ResizeOutcome } from '../store/queue.ts'

/** What the store says about a key when it answers. */
export type PermitsState = Extract<QueueInspection, { readonly type: 'state' }>

/** What locks for several holders need from a locker and its store. */
export class Permits {
  readonly locks: Locker
  readonly queue: QueueStore
  readonly #shared: Shared

  constructor(locks: Locker, shared: Shared, queue: QueueStore) {
    this.locks = locks
    this.#shared = shared
    this.queue = queue
  }

  get defaults(): AcquireOptions {
    return this.#shared.defaults
  }

  get context(): Context {
    return this.#shared.context
  }

  /** The locker's calls for a key. Each takes this many permits, and waits for them in the store's queue. */
  callsFor(key: string, kind: QueueKind, permits: number, settings: CallSettings): KeyCalls {
    return new KeyCalls(queuedCalls(this.#shared, { kind, permits }), key, settings)
  }

  async resize(key: string, kind: QueueKind): Promise<void> {
    this.context.work.assertOpen()
    // Sent once, like every act of an operator: a late repeat would undo what another operator did in the meantime.
    const { outcome } = await ask<ResizeOutcome>(this.context, Infinity, {
      once: true,
      send: (attempt) => attempt.follow(this.queue.resize(key, kind, attempt)),
    })
    answered('resize', key, outcome)
  }

  /** @param asked the kind of lock that the key must be, whatever its capacity */
  async inspect(key: string, asked: QueueKind): Promise<PermitsState> {
    this.context.work.assertOpen()
    const { outcome } = await ask<QueueInspection>(this.context, Infinity, {
      send: (attempt) => attempt.follow(this.queue.inspect(key, attempt)),
    })
    const state = answered('inspect', key, outcome) as PermitsState
    const { kind } = state
    return answered<PermitsState>('inspect', key, kind && kind.name !== asked.name ? kindMismatch(asked, kind) : state)
  }
}

/** @throws InvalidOptionError unless `locks` is a locker whose store has queues */
export function permitsOf(locks: Locker): Permits {
  const shared = sharedOf(locks)
  const queue = shared && queueOf(shared.context.store)
  demandOption(shared !== undefined && queue !== undefined, 'locks', 'a locker whose store has queues')
  return new Permits(locks, shared, queue)
}
