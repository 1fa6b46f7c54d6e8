import { LeaseholdError } from '../errors.ts'
import type { Refused, Unknown } from '../lease-store.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { renewOutcome } from '../redis/replies.ts'
import { isFence } from './fence.ts'

/** What became of a guarded write. */
export type GuardOutcome =
  | { readonly type: 'stored' }
  /** A higher fence has written there. */
  | { readonly type: 'fenced'; readonly highest: number }

/** Silence and the server's own errors mean the same after every script; only answers differ. */
const noAnswer = renewOutcome as (reply: Exclude<ScriptReply, { type: 'value' }>) => Unknown | Refused

/** Turns the script's reply into an outcome; one of another shape is no answer. */
export function guardOutcome(reply: ScriptReply): GuardOutcome | Unknown | Refused {
  if (reply.type !== 'value') return noAnswer(reply)
  const [word, detail] = Array.isArray(reply.value) ? reply.value : []
  // Some clients turn "123" into a number, so the fence is taken as either.
  const highest = Number(detail)
  if (word === 'stored') return { type: 'stored' }
  if (word === 'fenced' && isFence(highest)) return { type: 'fenced', highest }
  if (word === 'other') return { type: 'refused', error: otherKind() }
  return { type: 'unknown', executed: 'unknown', cause: new Error('Unexpected reply') }
}

const otherKind = (): LeaseholdError =>
  new LeaseholdError('KIND_MISMATCH', 'The key, or the record beside it, holds something else; use another key')
