import { jitter } from '../timing/backoff.ts'
import type { Clock } from '../timing/clock.ts'
import { sleep } from '../timing/deadline.ts'
import { checkMs, contentionCount, floorMs, recheckMs, restMs, type Tally, untilExpiryMs } from './pacing.ts'
import type { Contention, ReleaseNotifier, Subscription, Waiter, WaitPlan } from './release-notifier.ts'
import { SignalCount } from './signal-count.ts'
import { unsignalledReleases } from './unsignalled-release.ts'

/** How long to wait for a notifier to hear releases before the strategy spaces the tries, in milliseconds. */
const readyMs = 1_000

/**
 * A waiter that a notifier wakes.
 *
 * It subscribes after its first contended try and then waits for a signal. A timer bounds every pause, so that a lost
 * signal costs a delay, not a hang. While the notifier is disconnected, the strategy spaces the tries, within that
 * timer. Either way the holder's remaining time bounds the pause, unless the notifier checks by itself.
 *
 * Two floors keep a waiter from spinning. The floor on signals grows with each spurious signal. The floor on the holder's
 * remaining time grows each time that runs out without freeing the lock. The first floor never delays the second check.
 */
export function notifiedWaiter(notifier: ReleaseNotifier, clock: Clock, plan: WaitPlan): Waiter {
  const reliedMs = recheckMs(plan, notifier)
  const count = contentionCount(clock)
  const unsignalled = unsignalledReleases(clock)
  /** Made by the first pause. */
  let subscription: Subscription | undefined
  /** Counts the calls of `wake`. */
  const wakes = new SignalCount()
  /** The counts just before the last try. A higher count means that a signal or a wake-up has come since. */
  let seen = 0
  let seenWakes = 0
  /** Whether the last try followed a signal. */
  let signalled = false
  /** How many signals in a row were spurious: the same holder still had the lock. */
  let falseSignals = 0

  const onWake = (wake: () => void): (() => void) => wakes.onSignal(seenWakes, wake)

  const untilReady = ({ ready }: Subscription, mostMs: number, signal: AbortSignal): Promise<void> =>
    sleep(clock, Math.min(readyMs, reliedMs, mostMs), signal, (wake) => {
      void ready.then(wake)
      return onWake(wake)
    })

  /** How long to pause if no signal and no wake-up comes, in milliseconds. */
  function timerMs({ live, checks = notifier.checks }: Subscription, contention: Contention, tally: Tally): number {
    const untilMs = live ? reliedMs : Math.min(reliedMs, restMs(plan, tally.tries, jitter()))
    return live && checks ? untilMs : checkMs(contention, untilMs, tally)
  }

  async function untilSignalled(subscribed: Subscription, delayMs: number, signal: AbortSignal): Promise<void> {
    const distanceMs = Math.min(floorMs(falseSignals, reliedMs), delayMs)
    if (distanceMs > 0) await sleep(clock, distanceMs, signal, onWake)
    // A signal during that sleep is not lost: it has raised the count, so this sleep ends at once.
    await sleep(clock, delayMs - distanceMs, signal, (wake) => {
      const withdrawals = [subscribed.onSignal(seen, wake), onWake(wake)]
      return () => {
        for (const withdraw of withdrawals) withdraw()
      }
    })
  }

  /** Reads the counts just before the next try, so that a signal during that try counts as new. */
  function readSignals(subscribed: Subscription): void {
    const { signals } = subscribed
    unsignalled.trying(subscribed)
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
      subscription ??= notifier.subscribe(plan.key, contention.cursor, plan.forResult)
      const subscribed = subscription
      if (isNew) await untilReady(subscribed, Math.min(untilExpiryMs(contention), leftMs()), signal)
      else unsignalled.answered(subscribed, contention)
      // A release between that try and the subscription went unheard, so a new waiter tries again at once. A notifier
      // that checks by itself has noticed it.
      if (!isNew || notifier.checks) {
        const present = later(contention, clock.monotonicMs() - sinceMs)
        await untilSignalled(subscribed, Math.min(timerMs(subscribed, present, tally), leftMs()), signal)
      }
      readSignals(subscribed)
    },
    wake: () => wakes.add(),
    granted: () => subscription && unsignalled.answered(subscription),
    close: () => subscription?.close(),
  }
}

/** The contention a while after its answer: the holder has less time left. */
const later = ({ cursor, expiresInMs }: Contention, ms: number): Contention => ({
  cursor,
  expiresInMs: expiresInMs && Math.max(0, expiresInMs - ms),
})
