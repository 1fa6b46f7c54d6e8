import { elderQuickMs } from '../store/many-figures.ts'
import type { Clock } from '../timing/clock.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import type { ReleaseNotifier, Waiter } from '../waiting/release-notifier.ts'
import type { SetPlan } from './set-plan.ts'

/** The cursor of a lock that is left to an elder. A foreign holder has it too; checking at its expiry does no harm. */
const left = '-'

/**
 * Waits for a set: each pause is for the lock that was in the way of the last try, which the plan names. So a release
 * of that lock ends the pause, and the next pause may be for another lock.
 *
 * A notifier knows nothing of elders. For a lock that is left to an elder, which may never come, the pause is as long
 * as the store says. An elder, for which others stand back, relies neither on its notifier alone nor on its strategy:
 * it asks soon after the lock has changed hands, and then at intervals that double. So a free lock stays unused for no
 * longer than others had it before.
 */
export function setWaiter(notifier: ReleaseNotifier | undefined, clock: Clock, plan: SetPlan): Waiter {
  const waiters = new Map<string, Waiter>()
  let present: Waiter | undefined
  /** Whether it was woken since the last pause. */
  let woken = false
  let last: string
  let quickMs = elderQuickMs

  function waiterFor(key: string): Waiter {
    const known = waiters.get(key)
    if (known) return known
    // A notifier that checks may have a connection for each subscription, and a Worker has only six connections.
    if (notifier?.checks) close()
    const made = notifier?.waiter(clock, { ...plan, key }) ?? pollingWaiter(clock, plan)
    waiters.set(key, made)
    return made
  }

  function close(): void {
    for (const each of waiters.values()) each.close()
    waiters.clear()
  }

  return {
    async pause(contention, leftMs, signal) {
      const { cursor, expiresInMs } = contention
      quickMs = cursor === last ? 2 * quickMs : elderQuickMs
      last = cursor
      const mostMs = (cursor === left && expiresInMs) || (plan.isElder ? quickMs : Infinity)
      present = waiterFor(plan.key)
      // Whoever wakes it between two pauses does not know which lock the next one is for.
      if (woken) present.wake()
      await present.pause(contention, () => Math.min(mostMs, leftMs()), signal)
      woken = false
    },
    wake() {
      woken = true
      present?.wake()
    },
    granted: () => present?.granted?.(),
    close,
  }
}
