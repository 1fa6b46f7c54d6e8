import type { LedgerEntry } from './ledger.ts'

/**
 * The port to what the locks guard: one record per key, and the ledger of effects.
 *
 * A holder may be paused after its last check of the clock, and go on when its lease is long over. So a record is read
 * and written under the fence of the hold, and remembers the highest it has seen. Reading counts: if only writes were
 * checked, a late write of the holder before could still slip in between the present holder's read and its write.
 */
export interface Records {
  /** A check from outside, for answers that need no lock. It may be out of date by the time it is read. */
  peek(key: string): Promise<string | null>
  /**
   * Reads as the holder with this fence; from here on nothing is written under a lower one.
   *
   * @throws SupersededError if a later holder has been here · RecordsUnavailableError
   */
  open(key: string, fence: number): Promise<string | null>
  /**
   * Writes the record and appends its effect, both or none. Repeating a commit (the same fence and value) does nothing.
   *
   * @throws SupersededError if a later holder has been here: nothing was written · RecordsUnavailableError
   */
  commit(key: string, value: string, entry: LedgerEntry): Promise<void>
  append(entry: LedgerEntry): Promise<void>
  ledger(): Promise<readonly LedgerEntry[]>
}

/** A later holder of the lock has been at the record. What this one wanted to write was not written. */
export class SupersededError extends Error {
  constructor(key: string) {
    super(`A later holder of the lock has taken over "${key}"; ask again`)
    this.name = 'SupersededError'
  }
}

/** No answer. What was asked may have been done. */
export class RecordsUnavailableError extends Error {
  constructor(cause: unknown) {
    super('The database did not answer', { cause })
    this.name = 'RecordsUnavailableError'
  }
}
