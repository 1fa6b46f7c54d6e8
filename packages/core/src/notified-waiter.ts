import { hearing } from './hearing.ts'
import type { ReleaseNotifier, Subscription } from './release-notifier.ts'
import { jitter } from './timing/backoff.ts'
import type { Clock } from './timing/clock.ts'
import { sleep } from './timing/deadline.ts'
import { floorMs, lookMs, recheckMs, refusalCount, restMs, type Waiter, type WaitPlan } from './waiter.ts'

/** How long a notifier may take until it hears, before the strategy spaces the tries, in milliseconds. */
const readyMs = 1_000

/**
 * A waiter that a notifier wakes.
 *
 * It subscribes after its first refusal and then waits for a signal; a timer under every pause makes sure that a lost
 * signal costs a delay and not a hang. While the notifier hears nothing, the strategy spaces the tries, within that timer.
 * Either way the holder's remaining time bounds the pause, unless the notifier looks for itself.
 *
 * Two floors keep a waiter that is refused by the same holder again and again from spinning: one under the timer, which
 * grows with every such refusal, and one under the signals, which grows only when a signal turned out to be for nothing.
 */
export function notifiedWaiter(notifier: ReleaseNotifier, clock: Clock, plan: WaitPlan): Waiter {
  const reliedMs = recheckMs(plan, notifier)
  const count = refusalCount()
  const heard = hearing(clock)
  let subscription: Subscription | undefined
  let seen = 0
  let signalled = false
  let falseSignals = 0

  async function subscribe(cursor: string, leftMs: () => number, signal: AbortSignal): Promise<Subscription> {
    const made = notifier.subscribe(plan.key, cursor)
    subscription = made
    await sleep(clock, Math.min(readyMs, reliedMs, leftMs()), signal, (wake) => {
      void made.ready.then(wake)
      return undefined
    })
    return made
  }

  /** Reads the count just before the next try, so that a release during that try is news. */
  function readSignals(subscribed: Subscription): void {
    const { signals } = subscribed
    heard.trying(subscribed)
    signalled = signals > seen
    seen = signals
  }

  return {
    async pause(refusal, leftMs, signal) {
      const { refusals, sameHolder } = count(refusal)
      falseSignals = sameHolder > 0 ? falseSignals + Number(signalled) : 0
      if (subscription) heard.answered(subscription, refusal)
      const isNew = !subscription
      const subscribed = subscription ?? (await subscribe(refusal.cursor, leftMs, signal))
      // A release between the refusal and now was heard by nobody, unless the notifier looks for itself.
      if (isNew && !notifier.looks) return readSignals(subscribed)

      const { live } = subscribed
      const untilMs = live ? reliedMs : Math.min(reliedMs, restMs(plan, refusals, jitter()))
      const timerMs = live && notifier.looks ? untilMs : lookMs(refusal, untilMs, sameHolder)
      const delayMs = Math.min(timerMs, leftMs())
      const distanceMs = Math.min(floorMs(falseSignals, reliedMs), leftMs())
      await sleep(clock, distanceMs, signal)
      // A signal during that distance is not lost: the count has moved, and this ends at once.
      await sleep(clock, delayMs - distanceMs, signal, (wake) => subscribed.onSignal(seen, wake))
      readSignals(subscribed)
    },
    granted: () => subscription && heard.answered(subscription),
    close: () => subscription?.close(),
  }
}
