import { makings } from '#process-state'
import { keyLayout } from '../redis/keys.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import { offeredQueue, offerQueue } from '../store/offer-queue.ts'
import type { QueueStore } from '../store/queue.ts'
import { redisQueue } from './redis-queue.ts'

/**
 * What keeps the queues of a store's locks, if it offers that. The Redis store and the memory store do.
 *
 * @example
 * ```ts
 * const outcome = await queueOf(store)?.inspect('job', call)
 * ```
 */
export function queueOf(store: LeaseStore): QueueStore | undefined {
  const offered = offeredQueue(store)
  const made = makings.get(store)
  if (offered || !made) return offered
  const queue = redisQueue(made, keyLayout(store.prefix))
  offerQueue(store, queue)
  return queue
}
