import { LeaseLostError } from '@leasehold/core'
import type { Context, Env } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'

/** The status that servers commonly log when the client has left. */
const status = 499 as StatusCode

/**
 * The answer to a client that has left, which nobody reads; undefined for any other error. A client that leaves is not
 * an error of the app, and the signal's reason need not be an `Error`, so it does not go to `onError`.
 */
export function clientGone<E extends Env>(c: Context<E>, error: unknown): Response | undefined {
  const { signal } = c.req.raw
  // Within an idempotent route the signal is the run's, which is aborted when the run's lease is lost.
  const gone = signal?.aborted && error === signal.reason && !(error instanceof LeaseLostError)
  return gone ? c.newResponse(null, status) : undefined
}
