import { type AcquireTimeoutError, LeaseholdError } from '../errors.ts'

/**
 * A guarded function was not called, because somebody held its lock until the wait was over. The message is the
 * `failureMessage`; the `cause` says how long the call waited, and for which holder.
 */
export class LockContendedError extends LeaseholdError {
  static override readonly code = 'CONTENDED' as const
  declare readonly code: 'CONTENDED'

  declare readonly key: string
  declare readonly cause: AcquireTimeoutError

  constructor(message: string, cause: AcquireTimeoutError) {
    super('CONTENDED', message, { name: 'LockContendedError', key: cause.key, cause })
  }
}
