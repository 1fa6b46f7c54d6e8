/**
 * What the locks guard: one record per key, and a ledger of all effects.
 *
 * A holder may be paused after it last checked the clock, and resume long after its lease is over. So every holder
 * reads and writes the record under its fence, and the record remembers the highest fence it has seen. Reads count,
 * too. If only writes were checked, a late write of the previous holder could slip in between the current holder's read
 * and its write.
 */
export interface Records {
  /** Reads without the lock, for answers that need none. The value may be out of date by the time it arrives. */
  peek(key: string): Promise<string | null>
  /**
   * Reads as the holder with this fence. From here on the record refuses every lower fence.
   *
   * @throws SupersededError if a later holder has been here · RecordsUnavailableError
   */
  open(key: string, fence: number): Promise<string | null>
  /**
   * Writes the record and appends its effect to the ledger, both or neither. Repeating a commit does nothing.
   *
   * @throws SupersededError if a later holder has been here: nothing is written · RecordsUnavailableError
   */
  commit(key: string, value: string, effect: Effect): Promise<void>
}

/** What was done, by which server, and under which hold. */
export interface Effect {
  /** A name that must appear only once: `charge:o-17`, `issue:welcome:u-3`. */
  readonly effect: string
  readonly server: string
  /** The lock that was held. */
  readonly key: string
  readonly fence: number
}

/**
 * The ledger only grows, and its order is the store's own. Anyone can check afterwards what happened under which lock,
 * whatever the clocks of the servers said.
 */
export interface Ledger {
  /** @throws RecordsUnavailableError */
  append(entry: LedgerEntry): Promise<void>
  /** @throws RecordsUnavailableError */
  entries(): Promise<readonly LedgerEntry[]>
}

/** An effect, which `commit` writes, or the start or end of a hold, which `auditedLocks` writes. */
export interface LedgerEntry extends Omit<Effect, 'effect'> {
  readonly type: 'enter' | 'effect' | 'leave'
  readonly effect?: string
}

/** A later holder of the lock has opened the record. This one has written nothing. */
export class SupersededError extends Error {
  constructor(key: string) {
    super(`A later holder of the lock has taken over "${key}"; ask again`)
    this.name = 'SupersededError'
  }
}

/** No answer came. The request may have been carried out. */
export class RecordsUnavailableError extends Error {
  override readonly name = 'RecordsUnavailableError'
}
