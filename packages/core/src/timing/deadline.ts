import type { Clock } from './clock.ts'
import { elapsedMs, instant } from './validity.ts'

/** Answers how many milliseconds are left of a span that begins now; negative when it is over. */
export function deadline(clock: Clock, spanMs: number): () => number {
  const start = instant(clock)
  return () => spanMs - elapsedMs(instant(clock), start)
}

/**
 * Resolves after `delayMs`, or sooner if what `listen` registers calls its wake function. Rejects with the signal's own
 * reason when that is aborted. Leaves no timer and no listener.
 *
 * @param listen registers a wake function, which it may call at once, and returns what withdraws it, if anything must
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
    const ending = (settle: () => void) => (): void => {
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
  })
}

/** What {@link withDeadline} answers when time was up first. */
export const noAnswer: undefined = undefined

/**
 * Runs a call and settles within `limitMs`, or at once when `signal` is aborted (with its reason), whatever the call
 * does; if it is still under way then, its own signal is aborted. An answer that comes later still goes to `onLate`, so that
 * what it granted is not forgotten; a late error is dropped, as it says no more than the silence did.
 */
export async function withDeadline<T>(
  clock: Clock,
  limitMs: number,
  call: (signal: AbortSignal) => Promise<T>,
  onLate?: (answer: T) => void,
  signal?: AbortSignal,
): Promise<T | typeof noAnswer> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  let given: Promise<T> | undefined
  let over = false
  const pending = call(stop.signal)
  try {
    await sleep(clock, limitMs, signal, (wake) => {
      const settle = (): void => {
        given = pending
        wake()
      }
      pending.then((answer) => (over ? onLate?.(answer) : settle()), settle)
      return undefined
    })
  } finally {
    over = true
    // Not always: making the reason of an abort costs more than all the rest.
    if (!given) stop.abort()
  }
  return given
}
