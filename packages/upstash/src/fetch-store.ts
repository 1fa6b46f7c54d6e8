import { demandObject, type LeaseStore } from '@leasehold/core/adapter'
import { type RedisStoreOptions, redisStore } from '@leasehold/core/redis'
import { fetchTransport } from './fetch-transport.ts'
import type { RestEndpoint } from './rest-endpoint.ts'

export interface FetchStoreOptions extends RestEndpoint, RedisStoreOptions {}

/**
 * A lease store over `fetch` alone, without a client library, for an Upstash database or any server that speaks its
 * REST protocol. It sends nothing until a lock is asked for, so you may create it at the module scope of a Worker.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: fetchStore({ url: env.REDIS_URL, token: env.REDIS_TOKEN }) })
 * ```
 *
 * @throws InvalidOptionError for a bad `url`, `token`, `fetch`, `prefix` or `fenceMemory`
 */
export function fetchStore(options: FetchStoreOptions): LeaseStore {
  demandObject(options)
  const { url, token, fetch, ...store } = options ?? {}
  return redisStore(fetchTransport({ url, token, fetch }), store)
}
