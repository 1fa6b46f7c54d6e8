import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { sleep } from '../timing/deadline.ts'
import { checkMs, contentionCount, restMs } from './pacing.ts'
import type { Waiter, WaitPlan } from './release-notifier.ts'

/** A waiter without a notifier: the strategy spaces its tries, and the holder's remaining time bounds each pause. */
export function pollingWaiter(clock: Clock, plan: WaitPlan): Waiter {
  const count = contentionCount(clock)
  let woken = false
  let end: (() => void) | undefined
  return {
    async pause(contention, leftMs, signal) {
      const tally = count(contention)
      const untilMs = checkMs(contention, restMs(plan, tally.tries, jitter()), tally)
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
