import type { Clock } from '../timing/clock.ts'
import type { ReleaseNotifier, Waiter } from '../waiting/release-notifier.ts'
import type { SetPlan } from './set-plan.ts'

/**
 * Waits for a set: each pause is for the lock that was in the way of the last try, which the plan names. So a release of that lock ends
 * it, and the next pause may be for another.
 */
export function setWaiter(notifier: ReleaseNotifier, clock: Clock, plan: SetPlan): Waiter {
  const waiters = new Map<string, Waiter>()
  let present: Waiter | undefined

  function waiterFor(key: string): Waiter {
    const known = waiters.get(key)
    if (known) return known
    // A notifier that checks may have a connection for each subscription, and a Worker has six of them.
    if (notifier.checks) close()
    const made = notifier.waiter(clock, { ...plan, key })
    waiters.set(key, made)
    return made
  }

  function close(): void {
    for (const each of waiters.values()) each.close()
    waiters.clear()
  }

  return {
    pause(contention, leftMs, signal) {
      present = waiterFor(plan.key)
      return present.pause(contention, leftMs, signal)
    },
    // Who is woken before its first pause makes no pause: the acquisition tells each waiter that it makes.
    wake: () => present?.wake(),
    granted: () => present?.granted?.(),
    close,
  }
}
