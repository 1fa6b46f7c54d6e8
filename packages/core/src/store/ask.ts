import { backoffMs, jitter } from '../timing/backoff.ts'
import { Call, type CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { deadline, sleep } from '../timing/deadline.ts'
import { type Instant, instant } from '../timing/validity.ts'
import { type Answer, isUnknown, retryAfterMs, silence } from './answered.ts'
import { leastRetryPauseMs, mostRetryPauseMs } from './figures.ts'
import type { Unknown } from './lease-store.ts'

/** Who is asked, and by which clock. */
interface Asking {
  readonly store: { readonly commandDeadlineMs: number }
  readonly clock: Clock
}

/**
 * How long a store command may stay unanswered, retries included: the store's own deadline, and at most a third of the ttl.
 */
export const commandDeadlineMs = ({ store }: Asking, ttlMs: number): number =>
  Math.min(store.commandDeadlineMs, ttlMs / 3)

/** Until when a store asks clients to stay away, in monotonic milliseconds. */
export interface Quiet {
  quietUntilMs: number
}

/** How to ask. By default it goes on for one command deadline. */
export interface AskOptions<O> {
  /** What is left of the time for all attempts, in milliseconds. */
  readonly leftMs?: () => number
  readonly signal?: AbortSignal | undefined
  /** Makes one attempt only. */
  readonly once?: boolean
  /** Shared by several requests: they all stay away when one of them is told to. */
  readonly quiet?: Quiet
  /** An attempt came to nothing, and not only because time was up. */
  readonly onSilence?: (failure: Unknown) => void
  /** An answer came too late; `sentAt` is when its attempt was sent. */
  readonly onLate?: (outcome: O | Unknown, sentAt: Instant) => void
}

/**
 * Repeats one request until it is answered or time is up; then the outcome is *unknown*.
 *
 * It leaves a store alone that asks for that. If the pause would use up the time that is left, it ends at once.
 *
 * It repeats an attempt after half a command deadline, so that a second one fits. An answer to the first still counts after that:
 * on a slow link each answer would otherwise come just after its attempt was given up. The first answer counts, whichever attempt it is
 * to, and what it grants counts from when that attempt was sent.
 *
 * @param send sends the request once and answers its outcome; undefined is no answer
 * @throws the signal's own reason when it is aborted, at once
 */
export async function ask<O>(
  context: Asking,
  ttlMs: number,
  send: (call: CallDeadline) => Promise<O | Unknown | undefined>,
  options: AskOptions<O> = {},
): Promise<Answer<O | Unknown>> {
  const { clock } = context
  const limitMs = commandDeadlineMs(context, ttlMs)
  const { leftMs = deadline(clock, limitMs), signal, once, onSilence, onLate, quiet = { quietUntilMs: 0 } } = options
  const lifeMs = once ? limitMs : limitMs / 2
  /** The attempts that may still be answered, the eldest first. */
  const heard = new Set<Call>()
  let latest: Call | undefined
  /** Answers, or throws what the store rejected with. */
  let result: (() => Pick<Answer<O>, 'outcome' | 'sentAt'>) | undefined
  let failure = silence
  /** Attempts without an answer that may have been carried out. */
  let uncertain = 0
  /** How many failed at once, and how long to pause after the last of them, in milliseconds. */
  let failures = 0
  let restMs = 0
  let over = false
  let wake: (() => void) | undefined

  function begin(call: Call): void {
    const sentAt = instant(clock)
    const settle = (outcome: O | Unknown = silence): void => {
      heard.delete(call)
      if (isUnknown(outcome)) fail(outcome, call)
      else succeed(outcome, sentAt)
    }
    uncertain++
    latest = call
    heard.add(call)
    send(call).then(settle, (error: unknown) =>
      end(() => {
        throw error
      }),
    )
  }

  function succeed(outcome: O, sentAt: Instant): void {
    uncertain--
    if (over || result) onLate?.(outcome, sentAt)
    else end(() => ({ outcome, sentAt }))
  }

  function fail(outcome: Unknown, call: Call): void {
    failure = outcome
    quiet.quietUntilMs = Math.max(quiet.quietUntilMs, clock.monotonicMs() + retryAfterMs(outcome))
    if (outcome.executed === 'no') uncertain--
    // An earlier attempt that comes to nothing is no news while a later one is under way.
    if (call === latest) wake?.()
  }

  function end(how: typeof result): void {
    result = how
    wake?.()
  }

  /** Until something is news, or the time is over. */
  const pause = (ms: number): Promise<void> =>
    sleep(clock, ms, signal, (end) => {
      wake = end
      return undefined
    })

  const stopAll = (): void => {
    for (const call of heard) call.end()
  }

  async function attempt(): Promise<void> {
    const [eldest] = heard
    if (heard.size > 1) eldest?.end()
    const availableMs = Math.max(1, leftMs())
    const call = new Call(lifeMs)
    begin(call)
    await pause(Math.min(lifeMs, availableMs))
    if (result) return
    const failed = !heard.has(call)
    if (failed || lifeMs <= availableMs) onSilence?.(failure)
    // An attempt that used its time needs no pause; one that failed at once does.
    if (failed) restMs = backoffMs(leastRetryPauseMs, mostRetryPauseMs, ++failures, jitter())
  }

  try {
    while (!result && (!latest || (!once && leftMs() > 1))) {
      signal?.throwIfAborted()
      const quietMs = quiet.quietUntilMs - clock.monotonicMs()
      const pauseMs = Math.max(restMs, quietMs)
      restMs = 0
      if (pauseMs <= 0) await attempt()
      // Not even a last attempt is possible, and none can still be answered.
      else if (quietMs >= leftMs() && heard.size === 0) break
      else await pause(Math.min(pauseMs, leftMs()))
    }
    if (!result) {
      // Told to stop, a transport may still know that it has sent nothing, or have the answer after all.
      stopAll()
      await sleep(clock, 0, signal)
    }
    const before = uncertain > 0 ? 'unknown' : 'no'
    return { outcome: { ...failure, executed: before }, sentAt: instant(clock), ...result?.(), before }
  } finally {
    over = true
    stopAll()
  }
}
