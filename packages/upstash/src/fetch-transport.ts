import type { RedisTransport } from '@leasehold/core/redis'
import { checkedEndpoint, type RestEndpoint } from './rest-endpoint.ts'
import { restTransport } from './rest-transport.ts'

/**
 * Runs scripts with nothing but `fetch`, on a server that speaks the REST protocol of `@upstash/redis`.
 *
 * Each request is sent once, is given up with its signal, and is marked so that nothing on the way stores it. Making one
 * does no work, so it may be made at the module scope of a Worker.
 *
 * @throws InvalidOptionError for a bad `url`, `token` or `fetch`
 */
export function fetchTransport(endpoint: RestEndpoint): RedisTransport {
  return restTransport(checkedEndpoint(endpoint))
}
