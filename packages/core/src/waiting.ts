import type { Context } from './context.ts'
import type { Plan } from './options.ts'
import type { ReleaseNotifier, Subscription } from './release-notifier.ts'
import { jitter } from './timing/backoff.ts'
import { sleep } from './timing/deadline.ts'

/** Waiters of one lock must not all look in the very millisecond in which its holder's time ends, in milliseconds. */
const expirySpreadMs = 50

/** What a refused try tells the waiter. */
interface Refusal {
  readonly cursor: string
  readonly expiresInMs: number | null
}

/**
 * One waiter between its tries: how long it pauses, and what may end the pause sooner.
 *
 * With a notifier it subscribes after its first refusal and then waits for a signal; a timer under every pause makes sure
 * that a lost signal costs a delay and not a hang. Without one, or while it hears nothing, the strategy spaces the tries.
 * Either way the holder's remaining time, when the refusal tells it, bounds the pause.
 *
 * Two floors keep a waiter that is refused by the same holder again and again from spinning: one under the timer, which
 * grows with every such refusal, and one under the signals, which grows only when a signal turned out to be for nothing.
 */
export class Waiting {
  readonly #context: Context
  readonly #plan: Plan
  #subscription: Subscription | undefined
  #seen = 0
  #refusals = 0
  #cursor: string | undefined
  #sameHolder = 0
  #falseSignals = 0
  #signalled = false

  constructor(context: Context, plan: Plan) {
    this.#context = context
    this.#plan = plan
  }

  /**
   * Pauses after a refusal, until another try is worth it or no time is left.
   *
   * @throws the signal's own reason when it is aborted.
   */
  async pause(refusal: Refusal, leftMs: () => number, signal: AbortSignal): Promise<void> {
    const { notifier, clock } = this.#context
    this.#count(refusal)
    if (notifier && !this.#subscription) {
      this.#subscription = notifier.subscribe(this.#plan.key, refusal.cursor)
      await this.#untilReady(this.#subscription, notifier, leftMs, signal)
      // A release between the refusal and now was heard by nobody, unless the notifier looks for itself.
      if (!notifier.looks) return this.#read()
    }
    const subscription = this.#subscription
    const relied = subscription?.live ? notifier : undefined
    const delayMs = Math.min(this.#timerMs(refusal, relied), leftMs())
    const distanceMs = Math.min(floorMs(this.#falseSignals, this.#mostMs(relied)), leftMs())

    await sleep(clock, Math.max(0, distanceMs), signal)
    // A signal during that distance is not lost: the count has moved, and this ends at once.
    const listen = subscription && ((wake: () => void) => subscription.onSignal(this.#seen, wake))
    await sleep(clock, Math.max(0, delayMs - distanceMs), signal, listen)
    this.#read()
  }

  /** Ends the subscription; nothing of this waiter remains. */
  close(): void {
    this.#subscription?.close()
  }

  #count({ cursor }: Refusal): void {
    const same = cursor === this.#cursor
    this.#cursor = cursor
    this.#refusals++
    this.#sameHolder = same ? this.#sameHolder + 1 : 0
    this.#falseSignals = same ? this.#falseSignals + Number(this.#signalled) : 0
  }

  /** Reads the count just before the next try, so that a release during that try is news. */
  #read(): void {
    const signals = this.#subscription?.signals ?? 0
    this.#signalled = signals > this.#seen
    this.#seen = signals
  }

  /** When to look without having been told. */
  #timerMs({ expiresInMs }: Refusal, relied: ReleaseNotifier | undefined): number {
    const { strategy } = this.#plan
    const restMs = relied ? this.#mostMs(relied) : strategy.delayMs(this.#refusals, jitter())
    if (expiresInMs === null || relied?.looks) return restMs
    const untilExpiryMs = expiresInMs + 1 + jitter() * expirySpreadMs
    return Math.min(restMs, Math.max(untilExpiryMs, floorMs(this.#sameHolder, restMs)))
  }

  /** How long this waiter relies on its notifier. */
  #mostMs(relied: ReleaseNotifier | undefined): number {
    return this.#plan.recheckMs ?? relied?.recheckMs ?? 1_000
  }

  async #untilReady(
    subscription: Subscription,
    notifier: ReleaseNotifier,
    leftMs: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const patienceMs = Math.max(0, Math.min(this.#mostMs(notifier), leftMs()))
    await sleep(this.#context.clock, patienceMs, signal, (wake) => {
      void subscription.ready.then(wake)
      return undefined
    })
  }
}

/** 0, then 10 ms doubling up to a second or `mostMs`. */
const floorMs = (times: number, mostMs: number): number => (times === 0 ? 0 : Math.min(5 * 2 ** times, 1_000, mostMs))
