import { type Executed, StoreUnavailableError } from '../errors.ts'
import type { Refused, Unknown } from '../lease-store.ts'
import type { Clock } from '../timing/clock.ts'
import { deadline, noAnswer, sleep, withDeadline } from '../timing/deadline.ts'

/**
 * Sends a request that may be repeated without harm, and once more if it stays unanswered. Each attempt has half of the
 * time. Where the first fails at once the second still waits for its half: a server that loads or fails over needs it.
 *
 * @param send sends the request once and answers its outcome, first in a list as `runScript` does
 * @throws StoreUnavailableError when time is up · the store's own error · the signal's own reason when it is aborted
 */
export async function askTwice<O extends { readonly type: string }>(
  clock: Clock,
  limitMs: number,
  send: (signal: AbortSignal) => Promise<readonly (O | Unknown | Refused)[]>,
  signal?: AbortSignal,
): Promise<O> {
  const leftMs = deadline(clock, limitMs)
  let executed: Executed = 'no'
  let cause: unknown
  for (const reservedMs of [limitMs / 2, 0]) {
    const mineMs = (): number => Math.max(0, leftMs() - reservedMs)
    const answers: (O | Unknown | Refused)[] = []
    const hear = (outcomes: readonly (O | Unknown | Refused)[]): unknown => answers.push(...outcomes)
    const inTime = await withDeadline(clock, mineMs(), send, hear, signal)
    if (inTime !== noAnswer) hear(inTime)
    // Told to stop, a transport may know that it has sent nothing.
    else await sleep(clock, 0, signal)
    const [outcome = silence] = answers
    if (isRefused(outcome)) throw outcome.error
    if (!isUnknown(outcome)) return outcome
    if (outcome.executed === 'unknown') executed = 'unknown'
    cause = outcome.cause ?? cause
    if (reservedMs > 0) await sleep(clock, mineMs(), signal)
  }
  throw new StoreUnavailableError('guarded write', executed, cause)
}

const silence: Unknown = { type: 'unknown', executed: 'unknown' }

const isUnknown = (outcome: { readonly type: string }): outcome is Unknown => outcome.type === 'unknown'
const isRefused = (outcome: { readonly type: string }): outcome is Refused => outcome.type === 'refused'
