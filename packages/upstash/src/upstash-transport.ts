import type { RedisTransport } from '@leasehold/core/redis'
import { checkedEndpoint } from './rest-endpoint.ts'
import { restTransport } from './rest-transport.ts'
import { endpointOf, type UpstashClient } from './upstash-client.ts'

/**
 * Runs scripts on the server of an `@upstash/redis` client, with its URL and token.
 *
 * The requests are our own, past the client's retries, its pipelines, its decoding, its `signal` and its middleware, so
 * each is sent once and its answer is what the server said. Changes nothing of the client, and keeps nothing in it.
 *
 * @throws InvalidOptionError for what is no such client, or one made without a URL and token, such as with a requester
 */
export function upstashTransport(redis: UpstashClient): RedisTransport {
  return restTransport(checkedEndpoint(endpointOf(redis)))
}
