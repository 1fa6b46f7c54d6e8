import { type Executed, StoreUnavailableError } from './errors.ts'
import type { Refused, Unknown } from './lease-store.ts'
import { backoffMs, jitter } from './timing/backoff.ts'
import type { Clock } from './timing/clock.ts'
import { deadline, sleep, withDeadline } from './timing/deadline.ts'
import { type Instant, instant } from './timing/validity.ts'

/** Who is asked, and by which clock. */
interface Asking {
  readonly store: { readonly commandDeadlineMs: number }
  readonly clock: Clock
}

/**
 * How long a store command may stay unanswered, retry included: the store's own deadline, and never more than a third of
 * the ttl it is about.
 */
export const commandDeadlineMs = ({ store }: Asking, ttlMs: number): number =>
  Math.min(store.commandDeadlineMs, ttlMs / 3)

/** An outcome, when the request that brought it was sent, and what became of the attempts before it. */
export interface Answer<O> {
  readonly outcome: O
  readonly sentAt: Instant
  /** `unknown` if an earlier, unanswered attempt may have been carried out. */
  readonly before: Executed
}

/** What an `ask` may be told; by default it goes on for one command deadline. */
interface AskOptions<O> {
  /** What is left of the time for all attempts, in milliseconds. */
  readonly leftMs?: () => number
  readonly signal?: AbortSignal
  /** One attempt, whatever becomes of it. */
  readonly once?: boolean
  /** Gets an answer that came after its attempt was given up. */
  readonly onLate?: (outcome: O | Unknown) => void
}

/** Between attempts that fail at once, so that a dead server is not hammered, in milliseconds. */
const pauseMs = { from: 20, to: 1_000 }

/**
 * Repeats one request until it is answered or time is up; then the outcome is *unknown*. An attempt gets half a command
 * deadline, so that a second fits, and there is at least one. Each is dated by itself: what an answer grants counts from
 * when that attempt was sent.
 *
 * @param send sends the request once and answers its outcome, first in a list as the store's calls do
 * @throws the signal's own reason when it is aborted, at once
 */
export async function ask<O>(
  context: Asking,
  ttlMs: number,
  send: (signal: AbortSignal) => Promise<readonly (O | Unknown)[]>,
  options: AskOptions<O> = {},
): Promise<Answer<O | Unknown>> {
  const { clock } = context
  const limitMs = commandDeadlineMs(context, ttlMs)
  const { leftMs = deadline(clock, limitMs), signal, once, onLate } = options
  let before: Executed = 'no'
  for (let attempt = 1; ; attempt++) {
    const sentAt = instant(clock)
    const attemptMs = Math.min(limitMs / 2, Math.max(1, leftMs()))
    let late: O | Unknown | undefined
    const hear = ([outcome]: readonly (O | Unknown)[]): void => {
      late = outcome
      if (outcome) onLate?.(outcome)
    }
    const outcomes = await withDeadline(clock, attemptMs, send, hear, signal)
    // Told to stop, a transport may still know that it has sent nothing, or have the answer after all.
    if (!outcomes) await sleep(clock, 0, signal)
    const outcome = outcomes?.[0] ?? late ?? silence
    if (!isUnknown(outcome)) return { outcome, sentAt, before }
    if (outcome.executed === 'unknown') before = 'unknown'

    if (once) return { outcome, sentAt, before }
    // An attempt that used its time needs no pause; one that failed at once does.
    if (outcomes) {
      const restMs = backoffMs(pauseMs.from, pauseMs.to, attempt, jitter())
      await sleep(clock, Math.min(restMs, leftMs()), signal)
    }
    if (leftMs() <= 1) return { outcome: { ...outcome, executed: before }, sentAt, before }
  }
}

const silence: Unknown = { type: 'unknown', executed: 'unknown' }

const isUnknown = (outcome: unknown): outcome is Unknown => (outcome as Unknown).type === 'unknown'

/** The error for a request that stayed without an answer. */
export const unanswered = (action: string, { executed, cause }: Unknown = silence): StoreUnavailableError =>
  new StoreUnavailableError(`did not answer (${action}); check that it is reachable`, executed, cause)

/** The outcome if it is an answer. @throws StoreUnavailableError if there is none, or the store's own error */
export function answered<O extends { readonly type: string }>(action: string, outcome: O | Unknown | Refused): O {
  if (isUnknown(outcome)) throw unanswered(action, outcome)
  if (outcome.type === 'refused') throw (outcome as Refused).error
  return outcome as O
}
