import type { Lease } from '@leasehold/core'
import type { Locks } from './locks.ts'

/** Admits everybody at once, all with the same fence. It exists only to show what goes wrong then. */
export function noLocks(): Locks {
  const hold = { fence: 0, signal: new AbortController().signal, assertValid: () => undefined }
  return { withLock: (key, _options, work) => work({ ...hold, key } as Lease) }
}
