/**
 * One line of the ledger that the servers write while they hold a lock. The order of the list is the store's own timeline: no
 * server's clock decides what came first.
 */
export interface LedgerEntry {
  readonly type: 'enter' | 'effect' | 'leave'
  readonly server: string
  readonly key: string
  readonly fence: number
  /** What was done, under a name that must appear once: `charge:<order>`, `issue:<coupon>:<user>`. */
  readonly effect?: string
}

/** @throws Error for any other line: a ledger that cannot be read proves nothing. */
export function ledgerEntry(value: unknown): LedgerEntry {
  const { type, server, key, fence, effect } = (value ?? {}) as Record<string, unknown>
  const known = type === 'enter' || type === 'leave' || (type === 'effect' && typeof effect === 'string')
  if (!known || typeof server !== 'string' || typeof key !== 'string' || typeof fence !== 'number') {
    throw new Error(`The ledger has a line that cannot be read: ${JSON.stringify(value)}`)
  }
  return { type, server, key, fence, ...(typeof effect === 'string' && { effect }) }
}
