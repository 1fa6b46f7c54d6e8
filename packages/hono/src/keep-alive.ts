import type { Context } from 'hono'

/**
 * Has a Worker go on with work though its client leaves. Where the platform ended the request in the midst of it, the lock would be
 * held until its ttl is over.
 */
export function keepAlive<T>(c: Context, work: Promise<T>): Promise<T> {
  // It must not reject: the platform would report that as an error of the request.
  executionOf(c)?.waitUntil(work.catch(() => undefined))
  return work
}

/** What a Worker is given with a request. Hono throws where there is none, as on Node. */
function executionOf(c: Context): Context['executionCtx'] | undefined {
  try {
    return c.executionCtx
  } catch {
    return undefined
  }
}
