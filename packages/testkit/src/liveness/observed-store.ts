import type { LeaseStore } from '@leasehold/core/adapter'

/** The calls that are observed. Checks say nothing about who has a lock. */
export type ObservedCall = 'acquire' | 'renew' | 'release' | 'inspect' | 'revoke'

/** Makes a store's call, and does something before and after it. A call resolves to one outcome or a list of them. */
export type Observe = <O>(
  name: ObservedCall,
  requests: readonly { readonly key: string }[],
  signal: AbortSignal,
  call: () => Promise<O>,
) => Promise<O>

/** Wraps a store so that each of its calls goes through `observe`. */
export const observedStore = (store: LeaseStore, observe: Observe): LeaseStore => ({
  commandDeadlineMs: store.commandDeadlineMs,
  prefix: store.prefix,
  nodeOf: (key) => store.nodeOf(key),
  whenReady: (key, call) => store.whenReady(key, call),
  acquire: (requests, call) => observe('acquire', requests, call.signal, () => store.acquire(requests, call)),
  renew: (requests, call) => observe('renew', requests, call.signal, () => store.renew(requests, call)),
  release: (requests, call) => observe('release', requests, call.signal, () => store.release(requests, call)),
  checkHolders: (requests, call) => store.checkHolders(requests, call),
  inspect: (key, call) => observe('inspect', [{ key }], call.signal, () => store.inspect(key, call)),
  revoke: (key, call) => observe('revoke', [{ key }], call.signal, () => store.revoke(key, call)),
})
