/**
 * Fencing: guards for whatever a lock protects. Each refuses a fence below one it has seen, and accepts an equal one.
 */
export { type AcceptFence, type FenceGateOptions, fenceGate } from './fence-gate.ts'
export { fenceHeader, readFence, writeFence } from './fence-header.ts'
export { type FencePredicate, type FencePredicateOptions, fencePredicate } from './fence-predicate.ts'
export { type GuardedGetOutcome, guardedGet } from './guarded-get.ts'
export {
  type GuardedDeleteOutcome,
  type GuardedSetOptions,
  type GuardedSetOutcome,
  type GuardedWriteOptions,
  guardedDelete,
  guardedSet,
} from './guarded-set.ts'
