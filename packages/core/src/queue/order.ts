import { demandOption } from '../errors.ts'
import type { QueueMaker, Shared } from '../key-locker.ts'
import type { Queue } from '../options.ts'
import { queuedCalls } from './queued-calls.ts'
import type { Order } from './queues.ts'

const orderOf = (priorityClass: number): Order & QueueMaker => ({
  priorityClass,
  sharedFor: (shared: Shared) => queuedCalls(shared),
})

/**
 * Waiters get the lock in the order in which they asked for it, whichever process they are in.
 *
 * The order holds among waiters that queue and whose process is alive. A call without `queue` does not stand in the
 * queue: it takes the lock if it finds it free. With `priority()` on the same key, `fifo()` counts as `priority(1)`.
 *
 * @example
 * ```ts
 * await using lease = await locks.acquire('job', { queue: fifo(), wait: '1m' })
 * ```
 */
export const fifo = (): Queue => orderOf(0)

/**
 * Waiters get the lock by priority: 1 is served first, 10 last. Waiters of the same priority get it in the order in
 * which they asked for it.
 *
 * Nobody starves: each step of priority is worth 2 s of waiting. So a waiter of priority 5 is overtaken by waiters of
 * priority 1 that come within 8 s after it, and by none that come later.
 *
 * @throws InvalidOptionError unless `level` is a whole number from 1 to 10
 * @example
 * ```ts
 * await using lease = await locks.acquire('job', { queue: priority(1), wait: '1m' })
 * ```
 */
export function priority(level: number): Queue {
  demandOption(Number.isInteger(level) && level >= 1 && level <= 10, 'priority', 'a whole number from 1 to 10')
  return orderOf(level - 1)
}
