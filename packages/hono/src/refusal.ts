import { AcquireTimeoutError, InvalidOptionError, LeaseholdError, StoreUnavailableError } from '@leasehold/core'
import type { Context, Env } from 'hono'
import { clientGone } from './client-gone.ts'
import { type Problem, problem } from './problem.ts'

/** What the answer is when somebody holds the lock until the wait is over: a status, or a function that answers. */
export type OnContended<E extends Env> =
  | 409
  | 423
  | ((c: Context<E>, error: AcquireTimeoutError) => Response | Promise<Response>)

/** How refusals are answered. */
export interface Refusals<E extends Env> {
  readonly onContended: OnContended<E>
  /** What the `type` of each problem begins with. */
  readonly problems: string
}

/*
 * `locked` alone ships nothing of the idempotency package, so these figures stand here, too.
 */

/** When a client may ask again while the store is silent, in seconds: a command deadline over TCP. */
const storeRetrySeconds = 2
/** The same while a server shuts down: the next request reaches another. */
const closedRetrySeconds = 1
/** The longest `Retry-After` for a held lock, in seconds: as long as an acquire waits unless told otherwise. */
const longestRetrySeconds = 10

/**
 * Answers a request that did not get its lock. Nothing has begun.
 *
 * @throws the error itself, if it is a mistake of the program
 */
export function refusal<E extends Env>(
  c: Context<E>,
  error: unknown,
  { onContended, problems }: Refusals<E>,
): Response | Promise<Response> {
  const gone = clientGone(c, error)
  if (gone) return gone
  const answer = (refused: Problem): Response => problem(c, problems, refused)
  if (error instanceof AcquireTimeoutError) {
    if (typeof onContended === 'function') return onContended(c, error)
    return answer({ ...contended, status: onContended, retryAfter: retrySeconds(error.waitedMs) })
  }
  if (error instanceof StoreUnavailableError) return answer(storeUnavailable)
  if (error instanceof LeaseholdError && error.code === 'CLOSED') return answer(shuttingDown)
  if (error instanceof InvalidOptionError && error.option === 'key') return answer(notLockable)
  throw error
}

/** Others have held the lock for as long as this request waited. They may do so for as long again. */
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
