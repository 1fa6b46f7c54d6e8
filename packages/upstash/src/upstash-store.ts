import type { LeaseStore } from '@leasehold/core/adapter'
import { type RedisStoreOptions, redisStore } from '@leasehold/core/redis'
import type { UpstashClient } from './upstash-client.ts'
import { upstashTransport } from './upstash-transport.ts'

/**
 * A lease store on the server of an `@upstash/redis` client. The client stays yours and is not changed. Locks are safe
 * whatever its options are, because the store takes only its URL and token, and sends its own requests.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: upstashStore(Redis.fromEnv()) })
 * ```
 *
 * @throws InvalidOptionError for a client without a URL and token of its own, a bad `prefix` or a bad `fenceMemory`
 */
export function upstashStore(redis: UpstashClient, options?: RedisStoreOptions): LeaseStore {
  return redisStore(upstashTransport(redis), options)
}
