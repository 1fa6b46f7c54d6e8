import type { Context } from '../context.ts'
import { type Answer, isUnknown, silence } from '../store/answered.ts'
import { type AskOptions, ask } from '../store/ask.ts'
import type { RenewOutcome, Unknown } from '../store/lease-store.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Instant } from '../timing/validity.ts'
import type { Grant } from './grant.ts'

/** What a request for several grants came to: an outcome for each, or none at all. */
type Outcomes = readonly RenewOutcome[] | Unknown

export const outcomeAt = (outcomes: Outcomes, index: number): RenewOutcome =>
  'type' in outcomes ? outcomes : (outcomes[index] ?? silence)

/**
 * Asks for more time for some grants with one request. Each takes in what the store answers, in time or late, even if it was
 * given back meanwhile: it may have been handed off, and then this is about its present holder.
 *
 * @param ttlMs    what is asked for each; by the time of the answer the grant may have a holder with another ttl
 * @param withinMs a third of this is how long the request may stay unanswered, as of a ttl
 */
export async function renewGrants(
  context: Context,
  grants: readonly Grant[],
  ttlMs: (grant: Grant) => number,
  withinMs: number,
  options: AskOptions<Outcomes>,
): Promise<Answer<Outcomes>> {
  const requests = grants.map((grant) => ({ key: grant.key, token: grant.token, ttlMs: ttlMs(grant) }))
  const onLate = (outcomes: Outcomes, sentAt: Instant): void => {
    for (const [index, { ttlMs }] of requests.entries())
      grants[index]?.take(outcomeAt(outcomes, index), { sentAt, ttlMs })
  }
  const send = async (call: CallDeadline): Promise<Outcomes | undefined> => {
    const outcomes = await context.store.renew(requests, call)
    // Without an answer for any of them, the request itself has none: so it is repeated.
    return outcomes.every(isUnknown) ? outcomes[0] : outcomes
  }
  const answer = await ask<readonly RenewOutcome[]>(context, withinMs, send, { ...options, onLate })
  onLate(answer.outcome, answer.sentAt)
  return answer
}
