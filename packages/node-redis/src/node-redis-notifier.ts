import type { ReleaseNotifier } from '@leasehold/core/adapter'
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
 * @throws everything that `pubsubNotifier` throws
 */
export const nodeRedisNotifier = (client: NodeRedisClient, options?: PubsubNotifierOptions): ReleaseNotifier =>
  pubsubNotifier(nodeRedisSubscriber(client), options)
