import { jointCalls } from '#joint-calls'
import type { Context } from '../context.ts'
import type { Attempt } from '../store/attempt.ts'
import type { AcquireOutcome, LeaseStore, ReleaseOutcome, ReleaseRequest } from '../store/lease-store.ts'
import type { LeaveOutcome, LeaveRequest, QueueStore } from '../store/queue.ts'
import { storeWith } from '../store/store-with.ts'
import { PacedCalls, type Send } from './paced-calls.ts'

/** The context of calls that queue. */
export interface QueuedContext extends Context {
  /** Sends a try that may enter the queue. */
  enter(key: string, send: Send<AcquireOutcome>, attempt: Attempt<AcquireOutcome>): void
  /** Leaves the queue. This undoes a try, in place of a release by the acquisition id. */
  leave(request: LeaveRequest, attempt: Attempt<ReleaseOutcome>): void
}

/**
 * A locker's context as the calls that queue see it: the queue's port ends their leases, so that the next waiter gets
 * the turn. It also renews them if the lock is for several holders. Everything else goes to the store, as always.
 */
export function queuedContext(context: Context, port: QueueStore, exclusive: boolean): QueuedContext {
  const store = queuedStore(context.store, port, exclusive)
  const paced = new PacedCalls(context)
  return {
    ...context,
    store,
    calls: jointCalls({ ...context, store }),
    enter: (key, send, attempt) => paced.send(key, send, attempt),
    leave: (request, attempt) =>
      paced.send(request.key, async (call) => asReleased(await port.leave(request, call)), attempt),
  }
}

function queuedStore(store: LeaseStore, port: QueueStore, exclusive: boolean): LeaseStore {
  // A try is undone by leaving the queue, so every release has a token.
  const ended = (request: ReleaseRequest) => ({
    key: request.key,
    exclusive,
    token: (request as { token: string }).token,
    keep: 0,
  })
  return storeWith(store, {
    renew: (requests, call) => (exclusive ? store : port).renew(requests, call),
    release: (requests, call) => port.release(requests.map(ended), call),
  })
}

const asReleased = (outcome: LeaveOutcome): ReleaseOutcome => {
  if (outcome.type === 'left') return { type: 'released', announced: true, subscribers: null }
  return outcome.type === 'absent' ? { type: 'gone', resent: false } : outcome
}
