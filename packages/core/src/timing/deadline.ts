import { Call, type CallDeadline } from './call-deadline.ts'
import type { Clock } from './clock.ts'
import { elapsedMs, instant } from './validity.ts'

/** Starts a span of time. The function it returns gives the milliseconds left; negative once the span is over. */
export function deadline(clock: Clock, spanMs: number): () => number {
  const start = instant(clock)
  return () => spanMs - elapsedMs(instant(clock), start)
}

/**
 * Resolves after `delayMs`, or as soon as somebody calls the wake function passed to `listen`. Rejects with the
 * signal's own reason when the signal is aborted. Leaves no timer and no listener behind.
 *
 * @param listen takes the wake function, may call it at once, and returns a function that withdraws it, if one is needed
 */
export function sleep(
  clock: Clock,
  delayMs: number,
  signal?: AbortSignal,
  listen?: (wake: () => void) => (() => void) | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    let withdraw: (() => void) | undefined
    let ended = false
    const ending = (settle: () => void) => (): void => {
      ended = true
      cancel()
      withdraw?.()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = ending(() => reject(signal?.reason))
    const wake = ending(resolve)
    const cancel = clock.schedule(wake, Math.max(0, delayMs))
    signal?.addEventListener('abort', onAbort)
    withdraw = listen?.(wake)
    // `listen` may have called it at once, before there was anything to withdraw.
    if (ended) withdraw?.()
  })
}

/** Waits until a promise settles, but no longer than `limitMs`. */
export const settledWithin = (clock: Clock, limitMs: number, promise: Promise<unknown>): Promise<void> =>
  sleep(clock, limitMs, undefined, (wake) => {
    promise.then(wake, wake)
    return undefined
  })

/** What {@link withDeadline} returns when time is up first. */
export const noAnswer: undefined = undefined

/**
 * Makes a call and settles within `limitMs`, whatever the call does; it rejects at once, with the signal's reason, when
 * `signal` is aborted. A call still in flight when time is up is notified, and what it answers in the same turn counts.
 * A later answer goes to `onLate`, so that what it granted is not forgotten. A late error is dropped: it says no more
 * than the silence did.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  run: (call: CallDeadline) => Promise<T>,
  onLate?: (answer: T) => void,
  signal?: AbortSignal,
): Promise<T | typeof noAnswer> {
  signal?.throwIfAborted()
  const call = new Call(limitMs)
  let given: Promise<T> | undefined
  let over = false
  let wake: (() => void) | undefined
  const pending = run(call)
  const settle = (): void => {
    given = pending
    wake?.()
  }
  pending.then((answer) => (over ? onLate?.(answer) : settle()), settle)
  const rest = (ms: number): Promise<void> =>
    sleep(clock, ms, signal, (end) => {
      wake = end
      return undefined
    })
  try {
    await rest(limitMs)
    if (!given) {
      call.end()
      await rest(0)
    }
  } finally {
    over = true
    if (!given) call.end()
  }
  return given
}
