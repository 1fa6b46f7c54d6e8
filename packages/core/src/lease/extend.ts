import type { Context } from '../context.ts'
import { demandOption } from '../errors.ts'
import { answered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { RenewOutcome } from '../store/lease-store.ts'
import { parseDuration } from '../timing/duration.ts'
import type { Span } from '../timing/span.ts'
import type { Instant } from '../timing/validity.ts'
import type { Grant } from './grant.ts'
import type { Extension, Lease } from './lease.ts'

/**
 * Implements `renew`, for an ordinary lease and for a nested one: asks for more time for the grant, which applies the
 * answer in any case.
 *
 * @param span ends the request when the lease ends
 */
export async function extend(
  context: Context,
  grant: Grant,
  lease: Lease,
  span: Span,
  extension: Extension,
): Promise<void> {
  const { ttl, by }: Partial<Extension> = extension ?? {}
  demandOption((ttl === undefined) !== (by === undefined), 'ttl', 'given, or "by" instead, but not both')
  const askedMs = parseDuration(by === undefined ? 'ttl' : 'by', by ?? ttl)
  lease.assertValid()
  // Computed once, before anything is sent, so that a repeat of the request does not add `by` again.
  const ttlMs = Math.ceil(askedMs + (by === undefined ? 0 : grant.expiresInMs()))
  const request = { key: grant.key, token: grant.token, ttlMs }
  const onLate = (outcome: RenewOutcome, sentAt: Instant): void => grant.take(outcome, { sentAt, ttlMs })
  // The request may stay unanswered for a third of the lease's present ttl.
  const { outcome, sentAt } = await ask<RenewOutcome>(context, grant.ttlMs, {
    span,
    onLate,
    send: (attempt) => context.calls.renew(request, attempt),
  })
  onLate(outcome, sentAt)
  lease.assertValid()
  answered('renew', request.key, outcome)
}
