import { AcquireTimeoutError } from '@leasehold/core'
import { lockRefusal, problemParts } from '@leasehold/core/requests'
import type { Context, Env } from 'hono'
import { clientGone } from './client-gone.ts'

/** The answer when somebody holds the lock until the wait is over: a status, or a function that returns the answer. */
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
  if (typeof onContended === 'function' && error instanceof AcquireTimeoutError) return onContended(c, error)
  const refused = lockRefusal(error, onContended === 423 ? 423 : 409)
  if (!refused) throw error
  // Made by the context, so that it has the headers of outer middleware.
  const { body, headers } = problemParts(problems, refused)
  return c.body(body, refused.status, headers)
}
