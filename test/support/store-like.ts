import type { LeaseStore } from '@leasehold/core/adapter'

/**
 * A store that wraps another. It does not offer the inner store's additional capabilities, such as records.
 *
 * @param changed calls of its own
 */
export const storeLike = (behind: LeaseStore, changed: Partial<LeaseStore> = {}): LeaseStore => ({
  commandDeadlineMs: behind.commandDeadlineMs,
  nodeOf: (key) => behind.nodeOf(key),
  whenReady: (key, call) => behind.whenReady(key, call),
  acquire: (requests, call) => behind.acquire(requests, call),
  renew: (requests, call) => behind.renew(requests, call),
  release: (requests, call) => behind.release(requests, call),
  checkHolders: (requests, call) => behind.checkHolders(requests, call),
  inspect: (key, call) => behind.inspect(key, call),
  revoke: (key, call) => behind.revoke(key, call),
  ...changed,
})
