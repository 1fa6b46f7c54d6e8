import { InvalidOptionError } from '@leasehold/core'
import { demandKnown, type ReleaseNotifier } from '@leasehold/core/adapter'
import { type PubsubNotifierOptions, pubsubNotifier } from '@leasehold/core/redis'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisSubscriber } from './node-redis-subscriber.ts'

/**
 * Wakes waiters when a lease is released. `nodeRedisBackend` makes it together with its store.
 *
 * It listens over a connection of its own, opened like the client's when a waiter first waits. The connection ends with
 * `close()` of the locker or of the notifier.
 *
 * @example
 * ```ts
 * const notifier = nodeRedisNotifier(redis, { mode: 'pattern' })
 * const locks = createLocker({ store: nodeRedisStore(redis), notifier })
 * ```
 *
 * @param options `prefix` must be the store's
 * @throws InvalidOptionError for anything that is not such a client, for a pool, for a client in legacy mode or with a
 *   `keyPrefix`
 * @throws InvalidOptionError for an unknown option, or a bad `prefix` or `mode`
 */
export function nodeRedisNotifier(client: NodeRedisClient, options?: PubsubNotifierOptions): ReleaseNotifier {
  demandKnown(options, ['prefix', 'mode', 'clock'])
  if (!['channels', 'pattern', undefined].includes(options?.mode)) {
    throw new InvalidOptionError('mode', 'must be "channels" or "pattern"')
  }
  return pubsubNotifier(nodeRedisSubscriber(client), options)
}
