import type { Acquired } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import type { LocalQueue } from '../local-queue/local-queue.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import { QueuedWaiter } from './queued-waiter.ts'
import type { Queues, Wish } from './queues.ts'

/**
 * Where the calls of a process queue at the store. They neither stand in the process's own line nor hand grants off in it: whoever
 * waits in another process may be next.
 */
export class QueuedLine implements LocalQueue {
  readonly #shared: Shared
  readonly #context: Context
  readonly #queues: Queues
  readonly #wish: Wish

  constructor(shared: Shared, context: Context, queues: Queues, wish: Wish) {
    this.#shared = shared
    this.#context = context
    this.#queues = queues
    this.#wish = wish
  }

  acquire(plan: Plan, since: Instant): Promise<Acquired> {
    return new QueuedWaiter(this.#context, this.#queues, this.#wish, plan, since).run()
  }

  handOff(): boolean {
    return false
  }

  /** The process's own waiters for the key, if it has any, do not queue at the store, and may try now. */
  ended(grant: Grant, subscribers: number | null): void {
    this.#shared.queue()?.ended(grant, subscribers)
  }

  holding(): undefined {
    return undefined
  }

  close(): void {
    // Closing the locker ends every wait.
  }
}
