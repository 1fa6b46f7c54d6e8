import { backoffMs, jitter } from '../timing/backoff.ts'
import { Call, type CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { deadline, sleep } from '../timing/deadline.ts'
import { type Instant, instant } from '../timing/validity.ts'
import { type Answer, isUnknown, retryAfterMs, silence } from './answered.ts'
import { leastRetryPauseMs, mostRetryPauseMs } from './figures.ts'
import type { Unknown } from './lease-store.ts'

/** The store that is asked, and the clock that times it. */
interface Asking {
  readonly store: { readonly commandDeadlineMs: number }
  readonly clock: Clock
}

/**
 * How long a store command may stay unanswered, retries included: the store's own deadline, and at most a third of the ttl.
 */
export const commandDeadlineMs = ({ store }: Asking, ttlMs: number): number =>
  Math.min(store.commandDeadlineMs, ttlMs / 3)

/** The time until which a store wants to be asked nothing, in monotonic milliseconds. */
export interface Quiet {
  quietUntilMs: number
}

/** The options of `ask`. */
export interface AskOptions<O> {
  /** The time left for all attempts, in milliseconds; default one command deadline from the start. */
  readonly leftMs?: () => number
  readonly signal?: AbortSignal | undefined
  /** Makes a single attempt; default false. */
  readonly once?: boolean
  /** Shared by several requests: when the store asks one of them for a quiet time, the others observe it too. */
  readonly quiet?: Quiet
  /** Called when an attempt got no usable answer, unless only the end of the time cut it short. */
  readonly onSilence?: (failure: Unknown) => void
  /** Called with an answer that came after this request had ended, and with when its attempt was sent. */
  readonly onLate?: (outcome: O | Unknown, sentAt: Instant) => void
}

/**
 * Repeats one request until it is answered or time is up. If time is up, the outcome is *unknown*.
 *
 * Nothing is sent while the store wants to be asked nothing. If that outlasts the time left, and no earlier attempt can still
 * be answered, the request ends at once: even a last attempt would come too soon for the store.
 *
 * An unanswered attempt is repeated after half a command deadline, so that a second one fits. Its answer still counts during
 * the whole deadline: on a slow link every answer would otherwise come just after its attempt was given up. The first answer
 * counts, whichever attempt it belongs to, and what it grants counts from when that attempt was sent.
 *
 * @param send sends the request once and answers its outcome; undefined means no answer
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
  /** The attempts that may still be answered, the oldest first. */
  const pending = new Set<Call>()
  let latest: Call | undefined
  /** Once there is a result: returns the answer, or throws what the store rejected with. */
  let result: (() => Pick<Answer<O>, 'outcome' | 'sentAt'>) | undefined
  let failure = silence
  /** How many attempts without an answer may have been carried out. */
  let uncertain = 0
  /** How many attempts failed before their time was over. */
  let failures = 0
  /** How long to pause after the last of them, in milliseconds. */
  let restMs = 0
  let over = false
  let wake: (() => void) | undefined

  function begin(call: Call): void {
    const sentAt = instant(clock)
    const settle = (outcome: O | Unknown = silence): void => {
      pending.delete(call)
      if (isUnknown(outcome)) fail(outcome, call)
      else succeed(outcome, sentAt)
    }
    uncertain++
    latest = call
    pending.add(call)
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
    // The failure of an earlier attempt changes nothing while a later one is under way.
    if (call === latest) wake?.()
  }

  function end(how: typeof result): void {
    result = how
    wake?.()
  }

  /** Pauses until the latest attempt fails, there is a result, or the time is over. */
  const pause = (ms: number): Promise<void> =>
    sleep(clock, ms, signal, (end) => {
      wake = end
      return undefined
    })

  const stopAll = (): void => {
    for (const call of pending) call.end()
  }

  async function attempt(): Promise<void> {
    const [oldest] = pending
    if (pending.size > 1) oldest?.end()
    const availableMs = Math.max(1, leftMs())
    const call = new Call(lifeMs)
    begin(call)
    await pause(Math.min(lifeMs, availableMs))
    if (result) return
    const failed = !pending.has(call)
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
      // No further attempt is possible, and no earlier one can still be answered.
      else if (quietMs >= leftMs() && pending.size === 0) break
      else await pause(Math.min(pauseMs, leftMs()))
    }
    if (!result) {
      // A transport that is told to stop may still say that it has sent nothing, or have the answer after all.
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
