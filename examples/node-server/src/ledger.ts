/**
 * One line of the ledger, which the service only ever appends to. Its order is the store's, whatever the clocks of the
 * servers say, so anyone can check from it afterwards what happened under which lock.
 */
export interface LedgerEntry {
  /** An effect is always written; enter and leave only when the service is audited. */
  readonly type: 'enter' | 'effect' | 'leave'
  readonly server: string
  /** The lock that was held. */
  readonly key: string
  readonly fence: number
  /** What was done, by a name that should appear once: `charge:o-17`, `issue:welcome:u-3`. */
  readonly effect?: string
}
