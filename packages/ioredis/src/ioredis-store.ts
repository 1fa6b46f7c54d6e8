import type { LeaseStore } from '@leasehold/core'
import { type RedisStoreOptions, redisStore } from '@leasehold/core/redis'
import type { IoredisClient } from './ioredis-client.ts'
import { ioredisTransport } from './ioredis-transport.ts'

/**
 * A lease store over an ioredis-compatible client: standalone, Sentinel or Cluster.
 *
 * The client stays the user's: it is connected if it was created with `lazyConnect`, and never closed here.
 *
 * @throws InvalidOptionError for a client with a `keyPrefix`, a bad `prefix` or a bad `fenceMemory`.
 */
export function ioredisStore(client: IoredisClient, options?: RedisStoreOptions): LeaseStore {
  return redisStore(ioredisTransport(client), options)
}
