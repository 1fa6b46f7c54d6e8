/** `@leasehold/nestjs`: a module that provides a locker, and a decorator that runs methods under a lock. */

export { ApplicationClosingException } from './application-closing-exception.ts'
export { currentLease } from './current-lease.ts'
export { DistributedLock } from './distributed-lock.ts'
export type { AsyncMethod, DistributedLockOptions, LockDecorator, OnContended } from './distributed-lock-options.ts'
export { LeaseholdLocker } from './leasehold-locker.ts'
export { LeaseholdModule } from './leasehold-module.ts'
export { LockContendedException } from './lock-contended-exception.ts'
export { InjectLocker, lockerToken } from './locker-token.ts'
export type {
  LeaseholdModuleAsyncOptions,
  LeaseholdModuleOptions,
  LeaseholdModuleSetting,
  LeaseholdOptionsFactory,
} from './module-options.ts'
