import type { RedisTransport } from '@leasehold/core/redis'
import { checkedEndpoint, type RestEndpoint } from './rest-endpoint.ts'
import { restTransport } from './rest-transport.ts'

/**
 * Runs scripts over `fetch` alone, on a server that speaks the REST protocol of `@upstash/redis`. It is for stores that you write;
 * `fetchStore` is built on it.
 *
 * It sends each request once, stops waiting when its caller does, and marks the request so that nothing on the way caches it.
 *
 * @example
 * ```ts
 * const store = redisStore(fetchTransport({ url, token }))
 * ```
 *
 * @throws InvalidOptionError for a bad `url`, `token` or `fetch`
 */
export function fetchTransport(endpoint: RestEndpoint): RedisTransport {
  return restTransport(checkedEndpoint(endpoint))
}
