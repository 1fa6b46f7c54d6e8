import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { sleep } from '../timing/deadline.ts'
import { checkMs, contentionCount, floorMs, recheckMs, restMs, untilExpiryMs } from './pacing.ts'
import type { Contention, ReleaseNotifier, Subscription, Waiter, WaitPlan } from './release-notifier.ts'
import { SignalCount } from './signal-count.ts'
import { hearing } from './unsignalled-release.ts'

/** How long a notifier may take until it hears, before the strategy spaces the tries, in milliseconds. */
const readyMs = 1_000

/**
 * A waiter that a notifier wakes.
 *
 * It subscribes after its first contended try and then waits for a signal; a timer under every pause makes sure that a lost
 * signal costs a delay and not a hang. While the notifier hears nothing, the strategy spaces the tries, within that timer.
 * Either way the holder's remaining time bounds the pause, unless the notifier looks for itself.
 *
 * Two floors keep a waiter from spinning: one under the signals, which grows when a signal turned out to be for nothing, and
 * one under the holder's remaining time, which grows when that ended in vain. The first never puts off the second.
 */
export function notifiedWaiter(notifier: ReleaseNotifier, clock: Clock, plan: WaitPlan): Waiter {
  const reliedMs = recheckMs(plan, notifier)
  const count = contentionCount(clock)
  const wakes = new SignalCount()
  const heard = hearing(clock)
  let subscription: Subscription | undefined
  let seen = 0
  let seenWakes = 0
  let signalled = false
  let falseSignals = 0

  async function subscribe(contention: Contention, leftMs: () => number, signal: AbortSignal): Promise<Subscription> {
    const made = notifier.subscribe(plan.key, contention.cursor)
    subscription = made
    await sleep(clock, Math.min(readyMs, reliedMs, untilExpiryMs(contention), leftMs()), signal, (wake) => {
      void made.ready.then(wake)
      return wakes.onSignal(seenWakes, wake)
    })
    return made
  }

  /** Reads the count just before the next try, so that a release during that try is news. */
  function readSignals(subscribed: Subscription): void {
    const { signals } = subscribed
    heard.trying(subscribed)
    signalled = signals > seen
    seen = signals
    seenWakes = wakes.signals
  }

  return {
    async pause(contention, leftMs, signal) {
      const tally = count(contention)
      falseSignals = tally.sameHolder ? falseSignals + Number(signalled) : 0
      if (subscription) heard.answered(subscription, contention)
      const isNew = !subscription
      const sinceMs = clock.monotonicMs()
      const subscribed = subscription ?? (await subscribe(contention, leftMs, signal))
      // A release between that try and now was heard by nobody, unless the notifier looks for itself.
      if (isNew && !notifier.checks) return readSignals(subscribed)

      const { live, checks = notifier.checks } = subscribed
      const untilMs = live ? reliedMs : Math.min(reliedMs, restMs(plan, tally.tries, jitter()))
      const present = later(contention, clock.monotonicMs() - sinceMs)
      const timerMs = live && checks ? untilMs : checkMs(present, untilMs, tally)
      const delayMs = Math.min(timerMs, leftMs())
      const distanceMs = Math.min(floorMs(falseSignals, reliedMs), delayMs)
      if (distanceMs > 0) await sleep(clock, distanceMs, signal, (wake) => wakes.onSignal(seenWakes, wake))
      // A signal during that distance is not lost: the count has moved, and this ends at once.
      await sleep(clock, delayMs - distanceMs, signal, (wake) => {
        const withdrawals = [subscribed.onSignal(seen, wake), wakes.onSignal(seenWakes, wake)]
        return () => {
          for (const withdraw of withdrawals) withdraw()
        }
      })
      readSignals(subscribed)
    },
    wake: () => wakes.add(),
    granted: () => subscription && heard.answered(subscription),
    close: () => subscription?.close(),
  }
}

/** What a contended try says some time after it came. */
const later = ({ cursor, expiresInMs }: Contention, ms: number): Contention => ({
  cursor,
  expiresInMs: expiresInMs && Math.max(0, expiresInMs - ms),
})
