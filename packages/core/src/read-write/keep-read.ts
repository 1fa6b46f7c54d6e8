import type { Context } from '../context.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Permits } from '../semaphore/permits.ts'
import { type Answer, failed, isUnknown, only } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { ReleaseOutcome, ReleaseResult, Unknown } from '../store/lease-store.ts'
import { readerPermits } from './figures.ts'

/**
 * Gives a write back and keeps a read of the same grant, in one step.
 *
 * Without an answer the store may still keep everybody out for as long as the read is renewed. So the request is
 * repeated in the background until it is answered or the read has ended, which gives back whatever is left.
 */
export async function keepRead({ context, queue }: Permits, held: HeldLease): Promise<ReleaseResult> {
  const request = { key: held.key, token: held.token, exclusive: false, keep: readerPermits }
  const give = (leftMs?: () => number): Promise<Answer<ReleaseOutcome | Unknown>> =>
    ask<ReleaseOutcome>(context, Infinity, {
      ...(leftMs && { leftMs }),
      send: (attempt) => attempt.follow(only(queue.release([request], attempt))),
    }).catch(failed(context))
  const { outcome } = await give()
  if (isUnknown(outcome)) {
    context.work.background(async () => learn(context, held, (await give(() => held.remaining())).outcome))
  }
  return learn(context, held, outcome)
}

function learn({ emit }: Context, held: HeldLease, outcome: ReleaseOutcome | Unknown): ReleaseResult {
  const { key, fence } = held
  if (outcome.type === 'released') {
    if (!outcome.announced) emit?.({ type: 'unannounced', key })
    return 'released'
  }
  if (outcome.type === 'refused') {
    const { error } = outcome
    emit?.({ type: 'release-refused', key, fence, cause: error.cause ?? error })
  }
  if (outcome.type === 'unknown' || outcome.type === 'refused') return 'unknown'
  // The store no longer has the grant, so the read is lost, too.
  held.lose('gone')
  return 'expired'
}
