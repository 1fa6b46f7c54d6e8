import { jitter } from './timing/backoff.ts'
import type { Clock } from './timing/clock.ts'
import { sleep } from './timing/deadline.ts'
import { checkMs, refusalCount, restMs, type Waiter, type WaitPlan } from './waiter.ts'

/** A waiter without a notifier: the strategy spaces its tries, and the holder's remaining time bounds the pause. */
export function unaidedWaiter(clock: Clock, plan: WaitPlan): Waiter {
  const count = refusalCount(clock)
  let woken = false
  let end: (() => void) | undefined
  return {
    async pause(refusal, leftMs, signal) {
      const tally = count(refusal)
      const untilMs = checkMs(refusal, restMs(plan, tally.refusals, jitter()), tally)
      await sleep(clock, woken ? 0 : Math.min(untilMs, leftMs()), signal, (wake) => {
        end = wake
        return undefined
      })
      woken = false
    },
    wake() {
      woken = true
      end?.()
    },
    close: () => undefined,
  }
}
