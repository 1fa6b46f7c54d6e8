import { InvalidOptionError } from '@leasehold/core'

/** A server that speaks the REST protocol of `@upstash/redis`: where it is, and what lets us in. */
export interface RestEndpoint {
  /** Its REST URL, `https://…`, or `http://…` in a network you trust; a path is kept. */
  readonly url: string
  /** Its access token; sent in the `Authorization` header and nowhere else. */
  readonly token: string
  /**
   * Sends the requests; default: the global `fetch` at the time of a call. It must send each request once, and give up when
   * the signal is aborted. It is called as a plain function, so bind a method before you pass it.
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
  /** Where a limited server says when to ask again. */
  readonly headers?: { get(name: string): string | null }
  text(): Promise<string>
}

/**
 * The endpoint, its URL without a slash at the end. Sends nothing.
 *
 * @throws InvalidOptionError for a URL or token that no request could be made with; its message shows neither
 */
export function checkedEndpoint(endpoint: RestEndpoint): RestEndpoint {
  const { url, token, fetch } = endpoint
  // The parser would silently repair some of what the pattern keeps out, and fetch would show a password in its error.
  if (!/^https?:\/\/[\w[][^\s\\?#@]*$/i.test(url) || !parses(url)) {
    throw new InvalidOptionError('url', isUnset(url) ? unset : 'must be an http(s) URL without credentials or query')
  }
  // What a header cannot carry, fetch would show too.
  if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) {
    throw new InvalidOptionError('token', isUnset(token) ? unset : 'must be ASCII text without spaces')
  }
  if (fetch !== undefined && typeof fetch !== 'function') throw new InvalidOptionError('fetch', 'must be a function')
  return { ...endpoint, url: `${url}`.replace(/\/+$/, '') }
}

/** As an environment variable is that nobody has set. */
const isUnset = (value: unknown): boolean => value == null || value === ''
const unset = 'must be set: it is empty or undefined'

function parses(url: string): boolean {
  try {
    return !!new URL(url)
  } catch {
    // Such as a port beyond 65,535.
    return false
  }
}
