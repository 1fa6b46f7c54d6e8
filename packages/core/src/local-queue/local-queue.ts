import { acquireAlone } from '../acquire/acquire-alone.ts'
import type { Acquired } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import type { Successors } from '../lease/held-lease.ts'
import { closedError } from '../open-work.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import { fences, mostIdle } from './figures.ts'
import { KeyQueue } from './key-queue.ts'

/**
 * The waiters of one process, key by key.
 *
 * While this process holds a key, or one of its calls competes for it at the store, its other calls wait here, in order
 * and without any command. When a lease is given back while one of them waits, the grant is handed off to that call
 * without a round trip, with the next of the grant's reserved fences. The limits on a run of hand-offs let other
 * processes in.
 *
 * No call's options hold up another call. A call does not wait behind a competitor that checks far less often than the call
 * would, nor behind one whose grants come too late while the call's own might not. A run of hand-offs passes over a slow
 * competitor, which is woken when the run ends.
 */
export interface LocalQueue extends Successors {
  /** Acquires, after a wait in line if need be. A plan without a wait always asks the store. */
  acquire(plan: Plan, since: Instant): Promise<Acquired>
  /** The grant by which this process holds a key now. */
  holding(key: string): Grant | undefined
  /** Ends every wait in line, because the locker is being closed. */
  close(): void
}

export function localQueue(context: Context): LocalQueue {
  const { work } = context
  const queues = new Map<string, KeyQueue>()

  /** How many times a key has become idle since idle keys were last removed. */
  let idle = 0

  function queueFor(key: string): KeyQueue {
    const known = queues.get(key)
    if (known) return known
    const queue = new KeyQueue(context, key, onIdle)
    queues.set(key, queue)
    return queue
  }

  /** Removes idle keys only when there are many: a map is slow when keys are added and removed all the time. */
  function onIdle(): void {
    if (++idle < mostIdle || queues.size <= mostIdle) return
    idle = 0
    for (const [key, queue] of queues) if (queue.isIdle) queues.delete(key)
  }

  async function tryOnce(plan: Plan, since: Instant): Promise<Acquired> {
    const acquired = await acquireAlone(context, plan, since, fences)
    if (!acquired.grant) return { ...acquired, heldHere: queues.get(plan.key)?.grant !== undefined }
    queueFor(plan.key).hold(acquired.grant, fences)
    return acquired
  }

  return {
    acquire(plan, since) {
      work.assertOpen()
      plan.signal?.throwIfAborted()
      return plan.waitMs === 0 ? tryOnce(plan, since) : queueFor(plan.key).acquire(plan, since)
    },
    handOff: (grant, now) => queues.get(grant.key)?.handOff(grant, now) ?? false,
    ended: (grant, subscribers) => queues.get(grant.key)?.ended(grant, subscribers),
    holding: (key) => queues.get(key)?.grant,
    close() {
      for (const queue of queues.values()) queue.close(closedError())
    },
  }
}
