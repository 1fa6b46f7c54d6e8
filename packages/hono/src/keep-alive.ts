import type { WaitUntil } from '@leasehold/core'
import type { Context } from 'hono'

/**
 * Has a Worker continue with work after its client leaves. If the platform ended the request in the middle of it, the
 * lock would be held until its ttl is over.
 */
export function keepAlive<T>(c: Context, work: Promise<T>): Promise<T> {
  // It must not reject: the platform would report that as an error of the request.
  waitUntilOf(c)?.(work.catch(() => undefined))
  return work
}

/** The function that keeps a Worker alive for a promise. Hono throws if there is none, as on Node. */
export function waitUntilOf(c: Context): WaitUntil | undefined {
  try {
    const { executionCtx } = c
    return (task) => executionCtx.waitUntil(task)
  } catch {
    return undefined
  }
}
