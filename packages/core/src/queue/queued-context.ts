import { jointCalls } from '#joint-calls'
import type { Context } from '../context.ts'
import { silence } from '../store/answered.ts'
import type {
  AcquireOutcome,
  AcquireRequest,
  LeaseStore,
  ReleaseOutcome,
  ReleaseRequest,
} from '../store/lease-store.ts'
import type { LeaveOutcome, LeaveRequest, QueueStore } from '../store/queue.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'

/** A try that enters the queue: it says itself how it is sent. */
export interface QueuedTry extends AcquireRequest {
  send(call: CallDeadline): Promise<AcquireOutcome>
}

/** What undoes a try: leaving, in place of a release by the acquisition id. */
export const leaving = (request: LeaveRequest): ReleaseRequest => request as ReleaseRequest & LeaveRequest

/**
 * A locker's context as the calls that queue see it: the queue's port ends their leases, so that the next in the queue gets the turn.
 * It renews them too, where the lock is one for several holders. Everything else goes to the store, as ever.
 *
 * Requests that meet leave together, and no more of them are under way than with other calls: the rest of a burst waits here. Sent
 * all at once, thousands would be answered so late that each would be repeated.
 */
export function queuedContext(context: Context, port: QueueStore, exclusive: boolean): Context {
  const { clock, home } = context
  const store = queuedStore(context.store, port, exclusive)
  return { ...context, store, calls: jointCalls({ store, clock, home }) }
}

function queuedStore(store: LeaseStore, port: QueueStore, exclusive: boolean): LeaseStore {
  const { commandDeadlineMs, prefix, overlaps } = store
  return {
    commandDeadlineMs,
    prefix,
    overlaps,
    nodeOf: (key) => store.nodeOf(key),
    whenReady: (key, call) => store.whenReady(key, call),
    acquire: (requests, call) => Promise.all(requests.map((request) => (request as QueuedTry).send(call))),
    renew: (requests, call) => (exclusive ? store : port).renew(requests, call),
    release: (requests, call) => releaseAndLeave(port, exclusive, requests, call),
    checkHolders: (requests, call) => store.checkHolders(requests, call),
    inspect: (key, call) => store.inspect(key, call),
    revoke: (key, call) => store.revoke(key, call),
  }
}

/** Gives leases back with one request, and lets each of those who have none leave. */
function releaseAndLeave(
  port: QueueStore,
  exclusive: boolean,
  requests: readonly ReleaseRequest[],
  call: CallDeadline,
): Promise<readonly ReleaseOutcome[]> {
  const ended = requests.filter((request) => 'token' in request)
  const releases = ended.map(({ key, token }) => ({ key, exclusive, token, keep: 0 }))
  const released = releases.length > 0 ? port.release(releases, call) : undefined
  return Promise.all(
    requests.map(async (request) => {
      if ('token' in request) return (await released)?.[ended.indexOf(request)] ?? silence
      return asReleased(await port.leave(request as ReleaseRequest & LeaveRequest, call))
    }),
  )
}

const asReleased = (outcome: LeaveOutcome): ReleaseOutcome => {
  if (outcome.type === 'left') return { type: 'released', announced: true, subscribers: null }
  return outcome.type === 'absent' ? { type: 'gone', resent: false } : outcome
}
