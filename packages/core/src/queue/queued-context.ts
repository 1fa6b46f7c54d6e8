import { jointCalls } from '#joint-calls'
import type { Context } from '../context.ts'
import type { LeaseStore, ReleaseRequest } from '../store/lease-store.ts'
import type { QueueStore } from '../store/queue.ts'

/**
 * A locker's context as the leases of a queue see it: the queue's port ends them, so that the next in the queue gets the turn. It
 * renews them too, where the lock is one for several holders. Everything else goes to the store, as ever.
 */
export function queuedContext(context: Context, port: QueueStore, exclusive: boolean): Context {
  const { clock, home } = context
  const store = queuedStore(context.store, port, exclusive)
  return { ...context, store, calls: jointCalls({ store, clock, home }) }
}

function queuedStore(store: LeaseStore, port: QueueStore, exclusive: boolean): LeaseStore {
  const { commandDeadlineMs, prefix, overlaps } = store
  // An acquire that is undone leaves the queue instead: see `QueuedWaiter`. So every release has a token.
  const ended = (request: ReleaseRequest) => ({
    key: request.key,
    exclusive,
    token: (request as { token: string }).token,
    keep: 0,
  })
  return {
    commandDeadlineMs,
    prefix,
    overlaps,
    nodeOf: (key) => store.nodeOf(key),
    whenReady: (key, call) => store.whenReady(key, call),
    acquire: (requests, call) => store.acquire(requests, call),
    renew: (requests, call) => (exclusive ? store : port).renew(requests, call),
    release: (requests, call) => port.release(requests.map(ended), call),
    checkHolders: (requests, call) => store.checkHolders(requests, call),
    inspect: (key, call) => store.inspect(key, call),
    revoke: (key, call) => store.revoke(key, call),
  }
}
