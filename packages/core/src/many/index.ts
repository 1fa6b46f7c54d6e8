/** Several locks in one call: as a set, all or none of them, or each by itself. */
export type { AcquireAllOutcome, AcquireAllRequest, ManyStore } from '../store/many.ts'
export { acquireAll, type SetOptions, tryAcquireAll } from './acquire-all.ts'
export type { LeaseSet } from './lease-set.ts'
export { manyOf } from './many-of.ts'
export { releaseAll } from './release-all.ts'
export { tryAcquireEach } from './try-acquire-each.ts'
export { type SetWork, withLocks } from './with-locks.ts'
