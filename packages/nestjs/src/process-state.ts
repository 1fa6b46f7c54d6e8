import { AsyncLocalStorage } from 'node:async_hooks'
import type { Lease } from '@leasehold/core'

/*
 * What a process must have once, though it both imports and requires the package.
 */

/** The lease of the guarded method that runs, in its async context. */
export const leaseScope: AsyncLocalStorage<Lease> = new AsyncLocalStorage()

/** What Nest knows the locker by where its type is injected. Nobody makes one. */
export abstract class LockerType {}
