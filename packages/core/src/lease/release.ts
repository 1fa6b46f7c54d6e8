import type { Context } from '../context.ts'
import { failed, only } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { ReleaseOutcome, ReleaseResult } from '../store/lease-store.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Grant } from './grant.ts'

export interface Released {
  readonly result: ReleaseResult
  /** How many subscribers were told that the lock is free; null if that is not known. */
  readonly subscribers: number | null
}

/**
 * Gives a grant back. A lost grant is given back too, with a single attempt: the store may still have it, and the answer says
 * what became of it.
 *
 * A repeated release may find the lock gone, or held by another. *If our validity had not ended when the first attempt was
 * sent*, then that attempt freed the lock, because nobody else could have taken it until then. Otherwise the result is
 * unknown. All this applies only where the store does not know how the lease ended. Where it knows, its answer decides: a
 * revocation is a loss, even if the release was sent twice.
 */
export async function releaseGrant(context: Context, grant: Grant): Promise<Released> {
  const { store } = context
  const { key, token, fence } = grant
  const valid = grant.remainingMs() > 0
  const lost = grant.lostBecause !== undefined
  grant.end()

  const send = (call: CallDeadline): Promise<ReleaseOutcome | undefined> => only(store.release([{ key, token }], call))
  const asked = ask<ReleaseOutcome>(context, grant.ttlMs, send, { once: lost })
  const { outcome, before } = await asked.catch(failed(context))
  if (outcome.type === 'released') {
    const { announced, subscribers } = outcome
    if (!announced) context.emit({ type: 'unannounced', key })
    return { result: 'released', subscribers }
  }
  if (outcome.type === 'refused') {
    const { error } = outcome
    context.emit({ type: 'release-refused', key, fence, cause: error.cause ?? error })
  }
  const ended = (result: ReleaseResult): Released => ({ result, subscribers: null })
  if (outcome.type === 'revoked') return ended('expired')
  if (outcome.type !== 'gone' && outcome.type !== 'superseded') return ended('unknown')
  if (outcome.resent || before === 'unknown') return ended(valid ? 'released' : 'unknown')
  return ended(outcome.type === 'gone' ? 'expired' : 'superseded')
}
