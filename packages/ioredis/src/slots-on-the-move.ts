import { keySlot, type ScriptCall, type ScriptReply } from '@leasehold/core/redis'

/** How long the client's last word about a slot explains why another call for it gets no answer, in milliseconds. */
const explainsForMs = 5_000

/**
 * While a slot is being moved, its nodes redirect a call from one to the other, and the client follows until its
 * redirections are used up. That can take longer than the call's deadline, so its caller never hears why. The client's
 * final error is kept here, and explains later calls.
 */
export interface SlotsOnTheMove {
  /** Records how a call ended, in time or late. */
  note(call: ScriptCall, reply: ScriptReply): void
  /** What the client said recently about the slot of this call. */
  last(call: ScriptCall | undefined): string | undefined
}

export function slotsOnTheMove(): SlotsOnTheMove {
  // At most one entry for each slot. An answer does not remove it: the answered key may have been fine all along.
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
