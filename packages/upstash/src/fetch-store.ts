import type { LeaseStore } from '@leasehold/core/adapter'
import { type RedisStoreOptions, redisStore } from '@leasehold/core/redis'
import { fetchTransport } from './fetch-transport.ts'
import type { RestEndpoint } from './rest-endpoint.ts'

export interface FetchStoreOptions extends RestEndpoint, RedisStoreOptions {}

/**
 * A lease store over `fetch` alone, without a client library: an Upstash database, or any server that speaks its REST
 * protocol.
 *
 * @throws InvalidOptionError for a bad `url`, `token`, `fetch`, `prefix` or `fenceMemory`
 */
export function fetchStore(options: FetchStoreOptions): LeaseStore {
  return redisStore(fetchTransport(options), options)
}
