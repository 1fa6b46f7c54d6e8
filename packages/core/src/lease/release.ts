import type { Context } from '../context.ts'
import { failed, only } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { ReleaseOutcome, ReleaseResult } from '../store/lease-store.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Grant } from './grant.ts'

export interface Released {
  readonly result: ReleaseResult
  /** How many were told that the lock is free; null if nobody knows. */
  readonly subscribers: number | null
}

/**
 * Gives a grant back. A lost one is given back too, once: the store may still have it, and its answer says what became
 * of it.
 *
 * A repeat that finds the lock gone, or another's, met the work of the first try *if our validity had not ended when
 * that was sent*: until then nobody else could have taken it. Otherwise nobody can tell. That is for an ending of which
 * the store knows nothing; what it knows decides, and a revocation is a loss whatever was sent twice.
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
