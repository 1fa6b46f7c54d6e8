import { sharesBetweenCalls } from '#sharing'
import { demandOption } from '../errors.ts'
import type { Shared } from '../key-locker.ts'
import { Renewal } from '../lease/renewal.ts'
import type { Watch } from '../lease/watch.ts'
import type { LocalQueue } from '../local-queue/local-queue.ts'
import { inboxOf } from '../waiting/inbox.ts'
import { queueOf } from './queue-of.ts'
import { type QueuedContext, queuedContext } from './queued-context.ts'
import { QueuedLine } from './queued-line.ts'
import type { Queues, Wish } from './queues.ts'
import { Waiters } from './waiters.ts'

const wholeLock: Wish = { kind: { name: 'exclusive', capacity: 1 }, permits: 1 }

/**
 * What the calls of a locker share when they queue: acquires enter the queue, and leases are renewed and given back by
 * its rules. `new KeyCalls(queuedCalls(shared, wish), key, settings)` has the calls for a lock of that kind. A waiter
 * has the priority class of the plan's `queue`.
 *
 * Returns `shared` itself if it already has a queue in place. So the option `queue` does not change the kind of lock
 * that a call is for.
 *
 * @param wish by default the whole lock, which has one holder
 * @throws InvalidOptionError if the locker's store has no queues
 */
export function queuedCalls(shared: Shared, wish: Wish = wholeLock): Shared {
  if (queued.has(shared)) return shared
  const queues = queuesOf(shared)
  const { view, joint } = wish.kind.name === 'exclusive' ? queues.exclusive : queues.others
  const line: LocalQueue = new QueuedLine(shared, view, queues, wish)
  const made = {
    context: view,
    queue: () => line,
    // Where calls share nothing, each lease has a watchdog of its own.
    jointRenewal: sharesBetweenCalls() ? joint : new Renewal(view),
    defaults: shared.defaults,
  }
  queued.add(made)
  return made
}

/** What `queuedCalls` has returned. */
const queued = new WeakSet<Shared>()

interface LockerQueues extends Queues {
  readonly exclusive: Leases
  readonly others: Leases
}

/** What the leases of queued calls need. */
interface Leases {
  readonly view: QueuedContext
  readonly joint: Watch
}

const known = new WeakMap<Shared, LockerQueues>()

function queuesOf(shared: Shared): LockerQueues {
  const made = known.get(shared) ?? makeQueues(shared)
  known.set(shared, made)
  return made
}

function makeQueues({ context, jointRenewal }: Shared): LockerQueues {
  const port = queueOf(context.store)
  demandOption(port !== undefined, 'queue', 'left out: the store has no queues')
  const { notifier } = context
  const inboxes = notifier && inboxOf(notifier)
  const view = queuedContext(context, port, false)
  return {
    port,
    held: new Set(),
    waiters: notifier && inboxes && new Waiters(view, port, notifier, inboxes),
    // A lock with one holder is renewed in the same way with and without a queue.
    exclusive: { view: queuedContext(context, port, true), joint: jointRenewal },
    others: { view, joint: new Renewal(view, true) },
  }
}
