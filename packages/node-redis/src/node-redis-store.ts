import type { LeaseStore } from '@leasehold/core/adapter'
import { passingRedisStore, type RedisStoreOptions } from '@leasehold/core/redis'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

/**
 * A lease store over a client of node-redis: standalone, Sentinel or Cluster. `nodeRedisBackend` makes it together with its notifier.
 *
 * The client stays yours: you connect it and close it. A call waits for the connection, within its deadline.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: nodeRedisStore(await createClient().connect()) })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, for a pool, for a client in legacy mode or with a
 *   `keyPrefix`
 * @throws everything that `redisStore` throws
 */
export const nodeRedisStore = (client: NodeRedisClient, options?: RedisStoreOptions): LeaseStore =>
  passingRedisStore(nodeRedisTransport(client), options)
