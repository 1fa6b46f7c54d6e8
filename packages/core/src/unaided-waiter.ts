import type { SignalCount } from './signal-count.ts'
import { jitter } from './timing/backoff.ts'
import type { Clock } from './timing/clock.ts'
import { sleep } from './timing/deadline.ts'
import { lookMs, refusalCount, restMs, type Waiter, type WaitPlan } from './waiter.ts'

/**
 * A waiter without a notifier: the strategy spaces its tries, and the holder's remaining time bounds the pause.
 *
 * @param nudges end a pause: somebody in this process knows that the lock may be free
 */
export function unaidedWaiter(clock: Clock, plan: WaitPlan, nudges?: SignalCount): Waiter {
  const count = refusalCount()
  let seen = 0
  return {
    async pause(refusal, leftMs, signal) {
      const { refusals, sameHolder } = count(refusal)
      const untilMs = lookMs(refusal, restMs(plan, refusals, jitter()), sameHolder)
      await sleep(clock, Math.min(untilMs, leftMs()), signal, (wake) => nudges?.onSignal(seen, wake))
      seen = nudges?.signals ?? 0
    },
    close: () => undefined,
  }
}
