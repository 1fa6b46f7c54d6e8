import type { ReleaseNotifier } from '@leasehold/core'
import { type PubsubNotifierOptions, pubsubNotifier } from '@leasehold/core/redis'
import { type IoredisSubscribable, ioredisSubscriber } from './ioredis-subscriber.ts'

/**
 * Wakes waiters when a lease is released, over one connection of its own that is made like the client's when the first
 * waiter comes and ends with `close()` of the locker or of the notifier.
 *
 * @param options `prefix` must be the store's
 * @throws InvalidOptionError for a client with a `keyPrefix`, or a bad `prefix`
 */
export function ioredisNotifier(client: IoredisSubscribable, options?: PubsubNotifierOptions): ReleaseNotifier {
  return pubsubNotifier(ioredisSubscriber(client), options)
}
