/** Tools for tests of locks: a clock, a store and a network that do what they are told. */
export { callUntil } from './call-until.ts'
export { ContextClock } from './context-clock.ts'
export {
  answered,
  type Fate,
  refusing,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  type Sending,
  type StoreCall,
  type StoreCallName,
  unavailable,
} from './fate.ts'
export { type Course, type HttpProxy, type HttpProxyOptions, startHttpProxy } from './http-proxy.ts'
export type { CannedReply, ProxiedRequest } from './http-proxy-exchange.ts'
export { patienceMs } from './liveness/bound.ts'
export type { LivenessFault, LivenessRule } from './liveness/fault.ts'
export { type LivenessOptions, livenessFaults } from './liveness/liveness-faults.ts'
export { LockHistory } from './liveness/lock-history.ts'
export type {
  LockChange,
  LockRecord,
  RecordedWait,
  SentRequest,
  WaitEnd,
  WaitingFor,
} from './liveness/lock-record.ts'
export { ManualClock, type PendingTimer } from './manual-clock.ts'
export type { Ending } from './reply-drop.ts'
export { ScriptedNotifier, type ScriptedNotifierOptions, type ScriptedSubscription } from './scripted-notifier.ts'
export { ScriptedStore } from './scripted-store.ts'
export { type SeededRandom, seededRandom } from './seeded-random.ts'
export { follow, type Settlement } from './settlement.ts'
export type { Direction } from './tcp-link.ts'
export { startTcpProxy, type TcpProxy, type TcpProxyOptions } from './tcp-proxy.ts'
export { type EventOf, type TestLocker, type TestLockerOptions, testLocker } from './test-locker.ts'
