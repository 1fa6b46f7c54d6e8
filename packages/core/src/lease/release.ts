import type { Context } from '../context.ts'
import { type Answer, failed } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Attempt } from '../store/attempt.ts'
import type { ReleaseOutcome, ReleaseResult, Unknown } from '../store/lease-store.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import type { Grant } from './grant.ts'

/** The holder that gives a grant back. */
export interface Releasing {
  /** @param subscribers how many subscribers were notified that the lock is free; null if that is not known */
  onReleased(result: ReleaseResult, subscribers: number | null): void
}

/** Ends a grant that is not handed off. It notifies the holder before it settles. */
export type EndGrant = (
  context: Context,
  grant: Grant,
  holder: Releasing,
  now?: Instant,
) => ReleaseResult | Promise<ReleaseResult>

/**
 * Gives a grant back. A lost grant is given back too, with a single attempt: the store may still have it, and the answer says
 * what became of it.
 *
 * A repeated release may find the lock gone, or held by another. *If our validity had not ended when the first attempt
 * left that may have been carried out*, that attempt freed the lock, because nobody else could have taken it until then.
 * Otherwise the result is unknown. This reasoning applies only where the store does not know how the lease ended. Where
 * it knows, its answer decides: a revocation is a loss, even if the release was sent twice.
 *
 * @param now the present moment, if the caller has already read the clock
 */
export async function releaseGrant(
  context: Context,
  grant: Grant,
  holder: Releasing,
  now: Instant = instant(context.clock),
): Promise<ReleaseResult> {
  const { key, token, passing } = grant
  const leftMs = grant.remainingMs(now)
  grant.end()

  let answer: Answer<ReleaseOutcome | Unknown>
  let first = undefined as Attempt<ReleaseOutcome> | undefined
  const repeats: Attempt<ReleaseOutcome>[] = []
  try {
    const send = (attempt: Attempt<ReleaseOutcome>): void => {
      // A repeat is an ordinary release.
      if (!first && passing) passing.send(token, attempt)
      else context.calls.release({ key, token }, attempt)
      if (first) repeats.push(attempt)
      else first = attempt
    }
    answer = await ask<ReleaseOutcome>(context, grant.ttlMs, { once: !!grant.lostBecause, send }, now)
  } catch (cause) {
    answer = failed(context)(cause)
  }
  const decisive = first && mayHaveRun(first) ? first : repeats.find(mayHaveRun)
  const result = resultOf(context, grant, answer, !!decisive && leftMs > elapsedMs(decisive.sentAt, now))
  holder.onReleased(result, answer.outcome.type === 'released' ? answer.outcome.subscribers : null)
  return result
}

const mayHaveRun = ({ isSent, isInVain }: Attempt<ReleaseOutcome>): boolean => isSent && !isInVain

function resultOf(
  { emit }: Context,
  { key, fence }: Grant,
  { outcome, before }: Answer<ReleaseOutcome>,
  valid: boolean,
): ReleaseResult {
  if (outcome.type === 'released') {
    if (!outcome.announced) emit?.({ type: 'unannounced', key })
    return 'released'
  }
  if (outcome.type === 'refused') {
    const { error } = outcome
    emit?.({ type: 'release-refused', key, fence, cause: error.cause ?? error })
  }
  if (outcome.type === 'revoked') return 'expired'
  if (outcome.type !== 'gone' && outcome.type !== 'superseded') return 'unknown'
  if (outcome.resent || before === 'unknown') return valid ? 'released' : 'unknown'
  return outcome.type === 'gone' ? 'expired' : 'superseded'
}
