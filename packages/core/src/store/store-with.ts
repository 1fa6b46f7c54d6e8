import type { LeaseStore } from './lease-store.ts'

/**
 * The same store, but for how it ends leases, or renews them. It calls the store behind it by its methods, as a store may be an object
 * of a class.
 */
export function storeWith(store: LeaseStore, changed: Pick<LeaseStore, 'release'> & Partial<LeaseStore>): LeaseStore {
  const { commandDeadlineMs, prefix, overlaps } = store
  return {
    commandDeadlineMs,
    prefix,
    overlaps,
    nodeOf: (key) => store.nodeOf(key),
    whenReady: (key, call) => store.whenReady(key, call),
    acquire: (requests, call) => store.acquire(requests, call),
    renew: (requests, call) => store.renew(requests, call),
    checkHolders: (requests, call) => store.checkHolders(requests, call),
    inspect: (key, call) => store.inspect(key, call),
    revoke: (key, call) => store.revoke(key, call),
    ...changed,
  }
}
