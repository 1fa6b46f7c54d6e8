/** `@leasehold/core`: the calls people make, and the ports that stores and runtimes implement. */
export {
  AcquireTimeoutError,
  type Executed,
  InvalidOptionError,
  LeaseholdError,
  type LeaseholdErrorCode,
  LeaseLostError,
  type LossReason,
  StoreUnavailableError,
} from './errors.ts'
export type {
  AcquiredEvent,
  AcquireFailedEvent,
  AcquireFailure,
  ContendedEvent,
  DisconnectedEvent,
  ExpiringEvent,
  LockerEvent,
  LongHeldEvent,
  LostEvent,
  OnEvent,
  ReconnectedEvent,
  ReleasedEvent,
  ReleaseRefusedEvent,
  RenewalUnansweredEvent,
  UnannouncedEvent,
  WantedEvent,
} from './events.ts'
export type { KeyLocker, TryAcquireOptions } from './key-locker.ts'
export type { Extension, Lease, Work } from './lease/lease.ts'
export { createLocker, type Locker, type LockerOptions } from './locker.ts'
export type { WaitUntil } from './open-work.ts'
export type { AcquireOptions } from './options.ts'
export type {
  AcquireOutcome,
  AcquireRequest,
  CheckOutcome,
  CheckRequest,
  InspectOutcome,
  LeaseStore,
  LockState,
  Refused,
  ReleaseOutcome,
  ReleaseRequest,
  ReleaseResult,
  RenewOutcome,
  RenewRequest,
  RevokeOutcome,
  Unknown,
} from './store/lease-store.ts'
export { parseToken } from './store/token.ts'
export { backoff, poll, type WaitStrategy } from './timing/backoff.ts'
export type { CallDeadline } from './timing/call-deadline.ts'
export { type Clock, systemClock } from './timing/clock.ts'
export { type Duration, parseDuration } from './timing/duration.ts'
export { notifiedWaiter } from './waiting/notified-waiter.ts'
export type {
  Contention,
  NotifierState,
  ReleaseNotifier,
  Subscription,
  Waiter,
  WaitPlan,
} from './waiting/release-notifier.ts'
