import type { ReleaseNotifier } from '@leasehold/core/adapter'
import { type PubsubNotifierOptions, pubsubNotifier } from '@leasehold/core/redis'
import { type IoredisSubscribable, ioredisSubscriber } from './ioredis-subscriber.ts'

/**
 * Wakes waiters when a lease is released. `ioredisBackend` makes it together with its store.
 *
 * It listens over a connection of its own, opened like the client's when a waiter first waits. The connection ends with
 * `close()` of the locker or of the notifier.
 *
 * @example
 * ```ts
 * const notifier = ioredisNotifier(redis, { mode: 'pattern' })
 * const locks = createLocker({ store: ioredisStore(redis), notifier })
 * ```
 *
 * @param options `prefix` must be the store's
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 * @throws everything that `pubsubNotifier` throws
 */
export const ioredisNotifier = (client: IoredisSubscribable, options?: PubsubNotifierOptions): ReleaseNotifier =>
  pubsubNotifier(ioredisSubscriber(client), options)
