import type { LeaseStore } from './lease-store.ts'

/**
 * Wraps a store to change how it ends or renews leases. It calls the methods on the wrapped store itself, because a
 * store may be an instance of a class.
 */
export function storeWith(store: LeaseStore, changed: Pick<LeaseStore, 'release'> & Partial<LeaseStore>): LeaseStore {
  const { commandDeadlineMs, prefix } = store
  return {
    commandDeadlineMs,
    prefix,
    inNextWrite: store.inNextWrite && ((send) => store.inNextWrite?.(send)),
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
