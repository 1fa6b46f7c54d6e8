import type { RedisTransport } from '@leasehold/core/redis'
import { checkedEndpoint } from './rest-endpoint.ts'
import { restTransport } from './rest-transport.ts'
import { endpointOf, type UpstashClient } from './upstash-client.ts'

/**
 * Runs scripts on the server of an `@upstash/redis` client, with its URL and token. It is for stores that you write;
 * `upstashStore` is built on it.
 *
 * It sends its own requests, bypassing the client's retries, pipelines, decoding, `signal` and middleware. So each
 * request is sent once, and its answer is what the server said. It changes nothing in the client, and stores nothing
 * there.
 *
 * @example
 * ```ts
 * const store = redisStore(upstashTransport(Redis.fromEnv()))
 * ```
 *
 * @throws InvalidOptionError for anything but such a client, or for one made without a URL and token, such as with a requester
 */
export function upstashTransport(redis: UpstashClient): RedisTransport {
  return restTransport(checkedEndpoint(endpointOf(redis)))
}
