import type { Context } from './context.ts'
import { type Executed, StoreUnavailableError } from './errors.ts'
import type { Refused, Unknown } from './lease-store.ts'
import { backoffMs, jitter } from './timing/backoff.ts'
import { deadline, sleep, withDeadline } from './timing/deadline.ts'
import { type Instant, instant } from './timing/validity.ts'

/**
 * How long a store command may stay unanswered, retry included: the store's own deadline, and never more than a third of
 * the ttl it is about.
 */
export const commandDeadlineMs = ({ store }: Pick<Context, 'store'>, ttlMs: number): number =>
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
  context: Context,
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
    const outcomes = await withDeadline(clock, attemptMs, send, ([late]) => late && onLate?.(late), signal)
    const outcome = outcomes?.[0] ?? unanswered
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

const unanswered: Unknown = { type: 'unknown', executed: 'unknown' }

const isUnknown = (outcome: unknown): outcome is Unknown => (outcome as Unknown).type === 'unknown'

/** The outcome if it is an answer. @throws StoreUnavailableError if there is none, or the store's own error */
export function answered<O extends { readonly type: string }>(action: string, outcome: O | Unknown | Refused): O {
  if (isUnknown(outcome)) throw new StoreUnavailableError(action, outcome.executed, outcome.cause)
  if (outcome.type === 'refused') throw (outcome as Refused).error
  return outcome as O
}
