/** Functions and methods that run under a lock. */
export { LockContendedError } from './lock-contended-error.ts'
export { type AsyncMethod, locked } from './locked.ts'
export { lockedFunction } from './locked-function.ts'
export type { Lockable, LockCalls, LockedOptions, Overrun } from './locked-options.ts'
