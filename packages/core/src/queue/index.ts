/** Queues: waiters get a lock in order, by arrival or by priority. */

export type { Queue } from '../options.ts'
export type {
  HeldPermitsRequest,
  LeaveOutcome,
  LeaveRequest,
  LookOutcome,
  LookRequest,
  QueuedAcquireOutcome,
  QueuedAcquireRequest,
  QueuedWaiter,
  QueueHolder,
  QueueInspection,
  QueueKind,
  QueueStore,
  QueueWaiter,
  ReleasePermitsRequest,
  ResizeOutcome,
} from '../store/queue.ts'
export { inspectQueue, type QueueState } from './inspect-queue.ts'
export { fifo, priority } from './order.ts'
export { queueOf } from './queue-of.ts'
