import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { keySlot } from './cluster-node.ts'

/** For how long what was said of a slot explains why another call for it stays without an answer. */
const explainsForMs = 5_000

/**
 * While a slot is being moved its nodes send a call from one to the other, and the client follows until its redirections are
 * used up. That can take longer than the call has, and then nobody hears why. So what the client says in the end is kept, and
 * explains the calls that come after.
 */
export interface SlotsOnTheMove {
  /** Takes note of how a call ended, in time or late. */
  note(call: ScriptCall, reply: ScriptReply): void
  /** What was said not long ago of the slot that this call is for. */
  last(call: ScriptCall | undefined): string | undefined
}

export function slotsOnTheMove(): SlotsOnTheMove {
  // At most one for each slot. Other keys of it may be well meanwhile, so an answer is no reason to forget.
  const said = new Map<number, { readonly message: string; readonly atMs: number }>()
  const slotOf = (call: ScriptCall | undefined): number => keySlot(call?.keys[0] ?? '')
  return {
    note(call, reply) {
      if (reply.type !== 'error' || !/^(TRYAGAIN|CLUSTERDOWN)/.test(reply.message)) return
      said.set(slotOf(call), { message: reply.message, atMs: performance.now() })
    },
    last(call) {
      const last = said.size > 0 ? said.get(slotOf(call)) : undefined
      return last && performance.now() - last.atMs < explainsForMs ? last.message : undefined
    },
  }
}
