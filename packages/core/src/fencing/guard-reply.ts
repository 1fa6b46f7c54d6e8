import { LeaseholdError } from '../errors.ts'
import type { ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself } from '../redis/replies.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import { isFence } from './fence.ts'

/** What became of a guarded write. */
export type GuardOutcome =
  | { readonly type: 'stored' }
  /** A higher fence has written there. */
  | { readonly type: 'fenced'; readonly highest: number }

export const guardOutcome: (reply: ScriptReply) => GuardOutcome | Unknown | Refused = decoder<GuardOutcome>({
  stored: itself,
  fenced: ([fence]) => {
    // Some clients turn "123" into a number, so it is taken as either.
    const highest = Number(fence)
    return isFence(highest) && { type: 'fenced', highest }
  },
  other: () => ({
    type: 'refused',
    error: new LeaseholdError(
      'KIND_MISMATCH',
      'The key, or the record beside it, holds something else; use another key',
    ),
  }),
})
