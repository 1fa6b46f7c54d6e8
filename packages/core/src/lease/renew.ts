import type { Context } from '../context.ts'
import { type Answer, isUnknown, silence } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { RenewOutcome, Unknown } from '../store/lease-store.ts'
import type { Question } from '../store/question.ts'
import type { Instant } from '../timing/validity.ts'
import type { Grant } from './grant.ts'

/** The answer to a request for several grants: an outcome for each, or no answer at all. */
export type Outcomes = readonly RenewOutcome[] | Unknown

export const outcomeAt = (outcomes: Outcomes, index: number): RenewOutcome =>
  'type' in outcomes ? outcomes : (outcomes[index] ?? silence)

/** Asks for more time for several grants. */
export type AskForTime = typeof renewGrants

/**
 * Asks for more time for several grants with one request. Each grant applies the store's answer, on time or late, even
 * if its lease was given back meanwhile: the grant may have been handed off, and then the answer is about its present
 * holder.
 *
 * @param ttlMs         the ttl to ask for; by the time of the answer the grant may have a holder with another ttl
 * @param boundingTtlMs the request may stay unanswered for a third of it
 */
export async function renewGrants(
  context: Context,
  grants: readonly Grant[],
  ttlMs: (grant: Grant) => number,
  boundingTtlMs: number,
  options: Pick<Question<Outcomes>, 'once' | 'leftMs'>,
): Promise<Answer<Outcomes>> {
  const requests = grants.map((grant) => ({ key: grant.key, token: grant.token, ttlMs: ttlMs(grant) }))
  const onLate = (outcomes: Outcomes, sentAt: Instant): void => {
    for (const [index, { ttlMs }] of requests.entries())
      grants[index]?.take(outcomeAt(outcomes, index), { sentAt, ttlMs })
  }
  const answer = await ask<readonly RenewOutcome[]>(context, boundingTtlMs, {
    ...options,
    onLate,
    send: (attempt) => attempt.follow(context.store.renew(requests, attempt).then(unlessUnanswered)),
  })
  onLate(answer.outcome, answer.sentAt)
  return answer
}

/** If no grant got an answer, neither did the request itself: so it is repeated. */
const unlessUnanswered = (outcomes: readonly RenewOutcome[]): Outcomes | undefined =>
  outcomes.every(isUnknown) ? outcomes[0] : outcomes
