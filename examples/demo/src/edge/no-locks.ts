import type { Locks } from '@leasehold/example-hono-api/locks'

/** Lets everybody in at once, all with the same fence. Only there to show what happens then. */
export function noLocks(): Locks {
  return {
    withLock: (_key, _options, work) =>
      work({ fence: 0, signal: new AbortController().signal, assertValid: () => undefined }),
  }
}
