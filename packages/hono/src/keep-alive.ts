import type { WaitUntil } from '@leasehold/core'
import type { Context } from 'hono'

/**
 * Has a Worker go on with work though its client leaves. Where the platform ended the request in the midst of it, the lock would be
 * held until its ttl is over.
 */
export function keepAlive<T>(c: Context, work: Promise<T>): Promise<T> {
  // It must not reject: the platform would report that as an error of the request.
  waitUntilOf(c)?.(work.catch(() => undefined))
  return work
}

/** What keeps a Worker alive for a promise. Hono throws where there is none, as on Node. */
export function waitUntilOf(c: Context): WaitUntil | undefined {
  try {
    const { executionCtx } = c
    return (task) => executionCtx.waitUntil(task)
  } catch {
    return undefined
  }
}
