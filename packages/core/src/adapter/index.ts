/**
 * `@leasehold/core/adapter`: for authors of stores, notifiers and clients.
 *
 * It exports the ports, the outcomes they return, and the parts that every implementation would otherwise write again.
 * The ports for a Redis client (`RedisTransport`, `RedisSubscriber`) and what is built on them are in
 * `@leasehold/core/redis`. The calls for users of locks are in `@leasehold/core`.
 */

export { demandObject, demandOption, refuseUnknown } from '../errors.ts'
export { delegatedRenewal } from '../lease/delegated-renewal.ts'
export { chunkSize } from '../lease/figures.ts'
export { mostHandOffs } from '../local-queue/figures.ts'
export { checkAcquireOptions } from '../options.ts'
export { defaultPrefix, type KeyLayout, keyLayout, recordBeside, releasePattern } from '../redis/keys.ts'
export { type LinkAnswer, type LinkUser, type ReconnectPause, SubscriberLink } from '../redis/subscriber-link.ts'
export { type Finding, offerFindings } from '../store/finding.ts'
export { checkKey } from '../store/key.ts'
export type {
  AcquireOutcome,
  AcquireRequest,
  CheckOutcome,
  CheckRequest,
  InspectOutcome,
  LeaseStore,
  Refused,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOutcome,
  RenewRequest,
  RevokeOutcome,
  Unknown,
} from '../store/lease-store.ts'
export { offerPassOn } from '../store/offer-pass-on.ts'
export {
  offerHandOver,
  offerListing,
  offerMany,
  offerPresence,
  offerQueue,
  offerRecords,
  offerReleaseAfter,
  offerRevokeFrom,
} from '../store/offers.ts'
export { type Granted, type PassOn, type PassOnOutcome, type PassOnRequest, passOnOf } from '../store/pass-on.ts'
export { httpAliveMs, mostRecheckMs } from '../store/queue-figures.ts'
export { checkFingerprint, checkResult } from '../store/record-limits.ts'
export { parseToken } from '../store/token.ts'
export { backoffMs, doublingMs, jitter } from '../timing/backoff.ts'
export { Call, type CallDeadline } from '../timing/call-deadline.ts'
export { deadline, noAnswer, sleep, withDeadline } from '../timing/deadline.ts'
export { parseDuration } from '../timing/duration.ts'
export type { SpanListener } from '../timing/span.ts'
export { driftMs } from '../timing/validity.ts'
export { type Inbox, inboxOf, type OpenInbox, offerInbox } from '../waiting/inbox.ts'
export { offerPlaces, type PlaceKeeper, placesOf } from '../waiting/kept-places.ts'
export { notifiedWaiter } from '../waiting/notified-waiter.ts'
export type {
  Contention,
  NotifierState,
  ReleaseNotifier,
  Subscription,
  Waiter,
  WaitPlan,
} from '../waiting/release-notifier.ts'
export { SignalCount } from '../waiting/signal-count.ts'
export type { DelegatedLease, DelegatedValidity, WatchdogLink, WatchdogPort } from '../watchdog.ts'
export { clockWithin, homeContext, sharesBetweenCalls } from './shared-work.ts'
