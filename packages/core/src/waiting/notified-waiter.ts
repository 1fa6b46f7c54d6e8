import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { sleep } from '../timing/deadline.ts'
import { checkMs, contentionCount, floorMs, recheckMs, restMs, type Tally, untilExpiryMs } from './pacing.ts'
import type { Contention, ReleaseNotifier, Subscription, Waiter, WaitPlan } from './release-notifier.ts'
import { SignalCount } from './signal-count.ts'
import { unsignalledReleases } from './unsignalled-release.ts'

/** How long a notifier may take until it hears, before the strategy spaces the tries, in milliseconds. */
const readyMs = 1_000

/**
 * A waiter that a notifier wakes.
 *
 * It subscribes after its first contended try and then waits for a signal; a timer under every pause makes sure that a lost
 * signal costs a delay and not a hang. While the notifier hears nothing, the strategy spaces the tries, within that timer.
 * Either way the holder's remaining time bounds the pause, unless the notifier checks for itself.
 *
 * Two floors keep a waiter from spinning: one under the signals, which grows when a signal turned out to be for nothing, and
 * one under the holder's remaining time, which grows when that ended in vain. The first never puts off the second.
 */
export function notifiedWaiter(notifier: ReleaseNotifier, clock: Clock, plan: WaitPlan): Waiter {
  const reliedMs = recheckMs(plan, notifier)
  const count = contentionCount(clock)
  const heard = unsignalledReleases(clock)
  /** Made by the first pause. */
  let subscription: Subscription | undefined
  /** Those of this process who know that a try is worth it. */
  const wakes = new SignalCount()
  /** What had been counted just before the last try: what came since is news. */
  let seen = 0
  let seenWakes = 0
  /** The last try followed a signal. */
  let signalled = false
  /** Signals in a row after which the same holder still had the lock. */
  let falseSignals = 0

  const onWake = (wake: () => void): (() => void) => wakes.onSignal(seenWakes, wake)

  const untilReady = ({ ready }: Subscription, mostMs: number, signal: AbortSignal): Promise<void> =>
    sleep(clock, Math.min(readyMs, reliedMs, mostMs), signal, (wake) => {
      void ready.then(wake)
      return onWake(wake)
    })

  /** How long to pause if nobody says anything, in milliseconds. */
  function timerMs({ live, checks = notifier.checks }: Subscription, contention: Contention, tally: Tally): number {
    const untilMs = live ? reliedMs : Math.min(reliedMs, restMs(plan, tally.tries, jitter()))
    return live && checks ? untilMs : checkMs(contention, untilMs, tally)
  }

  async function untilSignalled(subscribed: Subscription, delayMs: number, signal: AbortSignal): Promise<void> {
    const distanceMs = Math.min(floorMs(falseSignals, reliedMs), delayMs)
    if (distanceMs > 0) await sleep(clock, distanceMs, signal, onWake)
    // A signal during that distance is not lost: the count has moved, and this ends at once.
    await sleep(clock, delayMs - distanceMs, signal, (wake) => {
      const withdrawals = [subscribed.onSignal(seen, wake), onWake(wake)]
      return () => {
        for (const withdraw of withdrawals) withdraw()
      }
    })
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
      const isNew = !subscription
      const sinceMs = clock.monotonicMs()
      subscription ??= notifier.subscribe(plan.key, contention.cursor)
      const subscribed = subscription
      if (isNew) await untilReady(subscribed, Math.min(untilExpiryMs(contention), leftMs()), signal)
      else heard.answered(subscribed, contention)
      // A release between that try and now was heard by nobody, unless the notifier checks for itself.
      if (!isNew || notifier.checks) {
        const present = later(contention, clock.monotonicMs() - sinceMs)
        await untilSignalled(subscribed, Math.min(timerMs(subscribed, present, tally), leftMs()), signal)
      }
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
