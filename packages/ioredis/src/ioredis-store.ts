import type { LeaseStore } from '@leasehold/core/adapter'
import { passingRedisStore, type RedisStoreOptions } from '@leasehold/core/redis'
import type { IoredisClient } from './ioredis-client.ts'
import { ioredisTransport } from './ioredis-transport.ts'

/**
 * A lease store over an ioredis-compatible client: standalone, Sentinel or Cluster. `ioredisBackend` makes it together with
 * its notifier.
 *
 * The client stays yours. A call connects it if it was created with `lazyConnect`; nothing closes it.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: ioredisStore(new Redis()) })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 * @throws everything that `redisStore` throws
 */
export const ioredisStore = (client: IoredisClient, options?: RedisStoreOptions): LeaseStore =>
  passingRedisStore(ioredisTransport(client), options)
