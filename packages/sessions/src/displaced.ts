import type { TakeOver } from '@leasehold/core/presence'

/** Who enters a room, and whom they may displace. */
export interface Entrant {
  readonly resource: string
  readonly role: string
  readonly sessionId: string
  readonly userId: string
  readonly exclusive: boolean
  readonly takeOver: TakeOver
}

/** An entry of a room. Whom it may displace is known only for this server's own entries. */
export type Entry = Omit<Entrant, 'resource' | 'takeOver'> & { readonly fence: number; readonly takeOver?: TakeOver }

/**
 * Whether the later of two sessions of one room shows that the earlier is no longer there. The store lets them in one
 * after the other, in the order of their fences, but its answers may arrive in the opposite order.
 */
export function displaces(later: Entry, earlier: Omit<Entry, 'fence'>): boolean {
  const { userId, sessionId, role, exclusive, takeOver = 'nobody' } = later
  const isUser = userId === earlier.userId
  if (isUser && sessionId === earlier.sessionId) return true
  // The store lets another user into an exclusive role only when the previous user no longer has it.
  return exclusive && role === earlier.role && (!isUser || takeOver !== 'nobody')
}
