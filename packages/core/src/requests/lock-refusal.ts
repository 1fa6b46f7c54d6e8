import { AcquireTimeoutError, InvalidOptionError, LeaseholdError, StoreUnavailableError } from '../errors.ts'
import type { Problem } from './problem.ts'

/** When a client may ask again while the store is silent, in seconds: a command deadline over TCP. */
const storeRetrySeconds = 2
/** The same while a server shuts down, in seconds: the next request reaches another server. */
const closedRetrySeconds = 1
/** The longest `Retry-After` for a held lock, in seconds: as long as an acquire waits by default. */
const longestRetrySeconds = 10

/**
 * The answer to a request that did not get its lock, so its work has not begun. Undefined if the error is a mistake of
 * the program or means that the client has left.
 *
 * @param contendedStatus the status if somebody holds the lock
 */
export function lockRefusal(error: unknown, contendedStatus: 409 | 423): Problem<400 | 409 | 423 | 503> | undefined {
  if (error instanceof AcquireTimeoutError) {
    return { ...contended, status: contendedStatus, retryAfter: retrySeconds(error.waitedMs) }
  }
  if (error instanceof StoreUnavailableError) return storeUnavailable
  if (error instanceof LeaseholdError && error.code === 'CLOSED') return shuttingDown
  if (error instanceof InvalidOptionError && error.option === 'key') return notLockable
  return undefined
}

/** Others have held the lock for as long as this request waited, and may hold it for as long again. */
const retrySeconds = (waitedMs: number): number =>
  Math.min(Math.max(Math.round(waitedMs / 1_000), 1), longestRetrySeconds)

const contended = { type: 'contended', title: 'The lock is held', detail: 'Another request holds the lock; ask again' }
const storeUnavailable = {
  status: 503,
  type: 'store-unavailable',
  title: 'Unavailable',
  detail: 'The store of the lock does not answer; nothing was done',
  retryAfter: storeRetrySeconds,
} as const
const shuttingDown = {
  status: 503,
  type: 'shutting-down',
  title: 'Unavailable',
  detail: 'This server is shutting down; nothing was done',
  retryAfter: closedRetrySeconds,
} as const
const notLockable = {
  status: 400,
  type: 'not-lockable',
  title: 'Bad request',
  detail: 'What the request names is too long for a lock, or no well-formed text',
} as const
