/** `@leasehold/core`: the calls people make, and the ports that stores and runtimes implement. */
export {
  AcquireTimeoutError,
  type Executed,
  InvalidOptionError,
  LeaseholdError,
  type LeaseholdErrorCode,
  LeaseLostError,
  type LossCause,
  StoreUnavailableError,
} from './errors.ts'
export type { LockerEvent, OnEvent } from './events.ts'
export type { Extension, Lease, ReleaseResult } from './lease.ts'
export type {
  AcquireOutcome,
  AcquireRequest,
  InspectOutcome,
  LeaseStore,
  LockState,
  LookOutcome,
  LookRequest,
  Refused,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
  RenewRequest,
  RevokeOutcome,
  Unknown,
} from './lease-store.ts'
export { createLocker, type KeyLocker, type Locker, type LockerOptions, type TryAcquireOptions } from './locker.ts'
export { notifiedWaiter } from './notified-waiter.ts'
export type { WaitUntil } from './open-work.ts'
export type { AcquireOptions } from './options.ts'
export type { ReleaseNotifier, Subscription } from './release-notifier.ts'
export { backoff, poll, type WaitStrategy } from './timing/backoff.ts'
export { type Clock, systemClock } from './timing/clock.ts'
export { type Duration, parseDuration } from './timing/duration.ts'
export { parseToken } from './token.ts'
export type { Refusal, Waiter, WaitPlan } from './waiter.ts'
