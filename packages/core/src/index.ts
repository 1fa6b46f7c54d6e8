/**
 * `@leasehold/core`: the API for users of locks. The API for authors of stores and clients is
 * `@leasehold/core/adapter`.
 */
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
export type { AcquireOptions, Budget } from './options.ts'
export type { LockState, ReleaseResult } from './store/lease-store.ts'
export { backoff, poll, type WaitStrategy } from './timing/backoff.ts'
export { type Clock, systemClock } from './timing/clock.ts'
export { type Duration, parseDuration } from './timing/duration.ts'
export type { Watchdog } from './watchdog.ts'
