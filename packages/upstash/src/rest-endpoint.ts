import { InvalidOptionError } from '@leasehold/core'

/** A server that speaks the REST protocol of `@upstash/redis`: its address and the token that it accepts. */
export interface RestEndpoint {
  /** Its REST URL, `https://…`, or `http://…` in a network you trust; a path is kept. */
  readonly url: string
  /** Its access token; sent in the `Authorization` header and nowhere else. */
  readonly token: string
  /**
   * Sends the requests; default: the global `fetch` at the time of a call. It must send each request once, and stop when the
   * signal is aborted. It is called as a plain function, so bind a method before you pass it.
   */
  readonly fetch?: Fetch | undefined
}

/** The part of `fetch` that is used: the global one of every runtime fits. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchAnswer>

export interface FetchRequest {
  readonly method: 'POST'
  readonly headers: Record<string, string>
  readonly body: string
  readonly redirect: 'manual'
  readonly signal: AbortSignal
  readonly cache?: 'no-store'
}

export interface FetchAnswer {
  readonly status: number
  /** The response headers: a server over its limit says there when to ask again. */
  readonly headers?: { get(name: string): string | null }
  text(): Promise<string>
}

/**
 * Returns the endpoint, with no slash at the end of its URL. Sends nothing.
 *
 * @throws InvalidOptionError for a URL or token that cannot work in a request; its message shows neither
 */
export function checkedEndpoint(endpoint: RestEndpoint): RestEndpoint {
  const { url, token, fetch } = endpoint
  // The URL parser would silently repair some of what this pattern rejects, and an error of fetch would show a
  // password.
  if (!/^https?:\/\/[\w[][^\s\\?#@]*$/i.test(url) || !parses(url)) {
    throw new InvalidOptionError('url', isUnset(url) ? unset : 'must be an http(s) URL without credentials or query')
  }
  // An error of fetch would also show a token that a header cannot carry.
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) {
    throw new InvalidOptionError('token', isUnset(token) ? unset : 'must be ASCII text without spaces')
  }
  if (fetch !== undefined && typeof fetch !== 'function') throw new InvalidOptionError('fetch', 'must be a function')
  return { ...endpoint, url: `${url}`.replace(/\/+$/, '') }
}

/** Whether the value is missing, like an environment variable that nobody has set. */
const isUnset = (value: unknown): boolean => value == null || value === ''
const unset = 'must be set: it is empty or undefined'

function parses(url: string): boolean {
  try {
    return !!new URL(url)
  } catch {
    // For example, a port above 65,535.
    return false
  }
}
