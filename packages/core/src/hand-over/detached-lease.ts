import { demandOption } from '../errors.ts'
import { parseToken } from '../store/token.ts'

/**
 * A lease on its way from the process that detached it to the one that resumes it: plain JSON, to be sent with the
 * work.
 *
 * **Its token is a secret.** Whoever has it can take the lock over until somebody resumes it. Send it where the work
 * itself may be sent, and keep it out of logs.
 */
export interface DetachedLease {
  readonly key: string
  /** Proves to the store who may resume the lease. A secret. */
  readonly token: string
  /** The fence of the holder that detached it. The lease that resumes it has a higher one. */
  readonly fence: number
}

/**
 * Returns the message without anything else that was sent with it. The error shows nothing of the message: its token is
 * a secret.
 *
 * @throws InvalidOptionError for a message that `detach` cannot have returned
 */
export function checkDetached(message: unknown): DetachedLease {
  const { key, token, fence } = Object(message) as DetachedLease
  const minted = parseToken(token)?.fence ?? Infinity
  demandOption(
    typeof key === 'string' && Number.isSafeInteger(fence) && fence >= minted,
    'message',
    'what detach answered',
  )
  return { key, token, fence }
}
