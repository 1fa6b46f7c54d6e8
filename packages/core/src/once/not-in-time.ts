import { AcquireTimeoutError, LeaseholdError } from '../errors.ts'

interface Figures {
  readonly waitedMs: number
  /** The name of the locker whose run the call has waited for; null if it has none. */
  readonly holder: string | null
  /** Whether it is a run of this same locker. */
  readonly heldHere: boolean
}

/**
 * The error of a call whose wait or budget has run out. The error of an acquire would speak of a lease to release, and
 * here nobody has one.
 *
 * @param isSpent whether it was the budget that ran out
 */
export function notInTime(key: string, figures: Figures, isSpent: boolean): LeaseholdError {
  const { waitedMs, holder, heldHere } = figures
  const where = heldHere ? 'at this locker itself' : holder ? `at "${holder}"` : 'elsewhere'
  const why = isSpent
    ? 'the call has spent its budget; allow a larger budget'
    : `the call has waited ${waitedMs} ms; allow a longer wait`
  const message = `The run of "${key}" is under way ${where}, and ${why}`
  const details = { name: 'AcquireTimeoutError', key, commands: 0, lateGrants: 0, ...figures }
  const error = new LeaseholdError(AcquireTimeoutError.code, message, details)
  return Object.setPrototypeOf(error, AcquireTimeoutError.prototype)
}
