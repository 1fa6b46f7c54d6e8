import { InvalidOptionError } from '@leasehold/core'
import type { FetchRequest, RestEndpoint } from './rest-endpoint.ts'

/** What tells a `Redis` of `@upstash/redis`, for Node, Cloudflare or Fastly, from other clients. */
export interface UpstashClient {
  createScript(script: string): unknown
  pipeline(): unknown
}

/** What such a client keeps of its configuration: since version 1.0 the property `client`, protected in its types. */
interface Requester {
  readonly baseUrl?: unknown
  readonly headers?: { readonly authorization?: unknown }
  readonly options?: { readonly agent?: unknown; readonly backend?: unknown }
}

/**
 * Where a client sends its requests, and with which token.
 *
 * That is all that is taken from it. Through the client itself a request cannot be made safe: it is sent again by
 * itself, the HTTP status is gone from its errors, so that a proxy's "502" cannot be told from the server's own "no",
 * and a middleware of the user's stands before all of it. What is read here is read at once, so that a future version
 * that keeps it elsewhere is refused, rather than used without these guards.
 *
 * @throws InvalidOptionError for what is no such client, or one without a URL and token of its own
 */
export function endpointOf(redis: UpstashClient): RestEndpoint {
  if (typeof redis?.createScript !== 'function') {
    throw new InvalidOptionError('redis', 'must be a Redis of @upstash/redis')
  }
  const { client } = redis as { readonly client?: Requester }
  const url = client?.baseUrl
  const token = /^Bearer (?!undefined$|null$)(.+)$/.exec(String(client?.headers?.authorization))?.[1]
  if (typeof url !== 'string' || url === '' || token === undefined) {
    throw new InvalidOptionError(
      'redis',
      'has no url and token of its own to send with; make it by new Redis({ url, token }), or use fetchStore({ url, token })',
    )
  }
  // Options of the runtime, not of the protocol: Fastly needs the one, fetch in place of the built-in may need the other.
  const { agent, backend } = client?.options ?? {}
  if (agent === undefined && backend === undefined) return { url, token }
  return { url, token, fetch: (to, request) => fetch(to, { ...request, agent, backend } as FetchRequest) }
}
