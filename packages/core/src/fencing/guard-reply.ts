import { LeaseholdError } from '../errors.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself } from '../redis/replies.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import { isFence } from './fence.ts'

/** The outcome of a guarded write. */
export type GuardOutcome = { readonly type: 'stored' } | Fenced

/** The guard has already seen a higher fence. */
interface Fenced {
  readonly type: 'fenced'
  readonly highest: number
}

/** The outcome of a guarded read. */
export type GuardedRead = Fenced | { readonly type: 'read'; readonly value: string | null }

const refusals = {
  fenced: ([fence]: readonly unknown[]): Fenced | false => {
    // Some clients turn "123" into a number, so accept either.
    const highest = Number(fence)
    return isFence(highest) && { type: 'fenced', highest }
  },
  other: (): Refused => ({
    type: 'refused',
    error: new LeaseholdError(
      'KIND_MISMATCH',
      'The key, or the record beside it, holds something else; use another key',
    ),
  }),
}

export const guardOutcome: (reply: ScriptReply) => GuardOutcome | Unknown | Refused = decoder<GuardOutcome>({
  stored: itself,
  ...refusals,
})

export const guardedReadOutcome: (reply: ScriptReply) => GuardedRead | Unknown | Refused = decoder<GuardedRead>({
  // The text begins with "=", so that no client takes it for a number, and an empty text differs from none.
  read: ([text]) => typeof text === 'string' && { type: 'read', value: text === '' ? null : text.slice(1) },
  ...refusals,
})
