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

/** An entry of a room; of others' entries nobody knows whom they might displace. */
export type Entry = Omit<Entrant, 'resource' | 'takeOver'> & { readonly fence: number; readonly takeOver?: TakeOver }

/**
 * Whether of two sessions of one room only the one with the higher fence can be there. The store lets them in one after the other, and
 * fences tell in which order; its answers may come in the other one.
 */
export function displaces(later: Entry, earlier: Omit<Entry, 'fence'>): boolean {
  const { userId, sessionId, role, exclusive, takeOver = 'nobody' } = later
  const isUser = userId === earlier.userId
  if (isUser && sessionId === earlier.sessionId) return true
  // The store lets another user into an exclusive role only when the one who had it has it no more.
  return exclusive && role === earlier.role && (!isUser || takeOver !== 'nobody')
}
