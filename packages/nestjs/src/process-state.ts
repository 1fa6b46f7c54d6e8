import { AsyncLocalStorage } from 'node:async_hooks'
import type { Lease } from '@leasehold/core'

/* State that a process must have only once, even if it both imports and requires the package. */

/** The lease of the guarded method that is running, in its async context. */
export const leaseScope: AsyncLocalStorage<Lease> = new AsyncLocalStorage()

/** The injection token of the locker where it is injected by type. It is never instantiated. */
export abstract class LockerType {}
