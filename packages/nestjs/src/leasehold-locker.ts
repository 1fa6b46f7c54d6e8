import type { Locker } from '@leasehold/core'
import { LockerType } from '#process-state'

/**
 * The locker, as a type that Nest can inject: `constructor(private readonly locks: LeaseholdLocker)`. It is the locker of
 * `LeaseholdModule` that has no name.
 */
export interface LeaseholdLocker extends Locker {}
export const LeaseholdLocker: abstract new () => LeaseholdLocker = LockerType as abstract new () => LeaseholdLocker
