import type { Lease } from '@leasehold/core'
import type { Locks } from './locks.ts'

/** The part of a lease that the shop uses. */
type UsedLease = Pick<Lease, 'key' | 'fence' | 'signal' | 'assertValid'>

/** Admits everybody at once, all with the same fence. It exists only to show what goes wrong then. */
export function noLocks(): Locks {
  const { signal } = new AbortController()
  return {
    withLock(key, _options, work) {
      const lease: UsedLease = { key, fence: 0, signal, assertValid: () => undefined }
      return work(lease as Lease)
    },
  }
}
