import { sharesBetweenCalls } from '#sharing'
import type { Acquired } from '../acquire/acquisition.ts'
import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import type { LocalQueue } from '../local-queue/local-queue.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import type { QueuedContext } from './queued-context.ts'
import { QueuedWaiter } from './queued-waiter.ts'
import type { Queues, Wish } from './queues.ts'

/**
 * Lets the calls of a process queue at the store. They neither stand in the process's own line nor hand off grants in
 * it: the next waiter may be in another process.
 */
export class QueuedLine implements LocalQueue {
  readonly #shared: Shared
  readonly #context: QueuedContext
  readonly #queues: Queues
  readonly #wish: Wish

  constructor(shared: Shared, context: QueuedContext, queues: Queues, wish: Wish) {
    this.#shared = shared
    this.#context = context
    this.#queues = queues
    this.#wish = wish
  }

  async acquire(plan: Plan, since: Instant): Promise<Acquired> {
    const acquired = await new QueuedWaiter(this.#context, this.#queues, this.#wish, plan, since).run()
    if (!acquired.grant) return { ...acquired, heldHere: this.holding(plan.key) !== undefined }
    if (sharesBetweenCalls()) this.#queues.held.add(acquired.grant)
    return acquired
  }

  handOff(): boolean {
    return false
  }

  /** Waiters in the process's own line, if the key has any, do not queue at the store and may try now. */
  ended(grant: Grant, subscribers: number | null): void {
    this.#queues.held.delete(grant)
    this.#shared.queue()?.ended(grant, subscribers)
  }

  holding(key: string): Grant | undefined {
    for (const grant of this.#queues.held) if (grant.key === key) return grant
    return this.#shared.queue()?.holding(key)
  }

  close(): void {
    // Closing the locker ends every wait.
  }
}
