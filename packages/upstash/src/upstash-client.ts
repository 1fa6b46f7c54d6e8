import { InvalidOptionError } from '@leasehold/core'
import type { FetchRequest, RestEndpoint } from './rest-endpoint.ts'

/** What distinguishes a `Redis` of `@upstash/redis`, for Node, Cloudflare or Fastly, from other clients. */
export interface UpstashClient {
  createScript(script: string): unknown
  pipeline(): unknown
}

/**
 * The configuration that such a client keeps since version 1.0, in its property `client`, which is protected in its
 * types.
 */
interface Requester {
  readonly baseUrl?: unknown
  readonly headers?: { readonly authorization?: unknown }
  readonly options?: { readonly agent?: unknown; readonly backend?: unknown }
}

/**
 * Where a client sends its requests, and with which token.
 *
 * Nothing else of the client is used, because it cannot send a request safely: it retries on its own, its errors lack
 * the HTTP status, so a proxy's "502" looks like the server's own "no", and the user's middleware comes first. Both
 * values are read at once, so a future version that keeps them elsewhere is refused rather than used without these
 * guards.
 *
 * @throws InvalidOptionError for anything but such a client, or for one without a URL and token of its own
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
  // These are for the runtime, not the protocol: Fastly needs `backend`; a `fetch` other than the built-in one may need
  // `agent`.
  const { agent, backend } = client?.options ?? {}
  if (agent === undefined && backend === undefined) return { url, token }
  return { url, token, fetch: (to, request) => fetch(to, { ...request, agent, backend } as FetchRequest) }
}
