import { demandKnown, type LeaseStore } from '@leasehold/core/adapter'
import { passingRedisStore, type RedisStoreOptions } from '@leasehold/core/redis'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

/**
 * A lease store over an ioredis-compatible client: standalone, Sentinel or Cluster. `nodeRedisBackend` makes it together with
 * its notifier.
 *
 * The client stays yours. A call connects it if it was created with `lazyConnect`; nothing closes it.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: nodeRedisStore(new Redis()) })
 * ```
 *
 * @throws InvalidOptionError for anything but such a client, or for a client with a `keyPrefix`
 * @throws InvalidOptionError for an unknown option, or a bad `prefix` or `fenceMemory`
 */
export function nodeRedisStore(client: NodeRedisClient, options?: RedisStoreOptions): LeaseStore {
  demandKnown(options, ['prefix', 'fenceMemory'])
  return passingRedisStore(nodeRedisTransport(client), options)
}
