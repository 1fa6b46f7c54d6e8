import { demandOption } from '@leasehold/core/adapter'

/** A bridge: its address and the token that it accepts. */
export interface BridgeEndpoint {
  /** Its URL, `https://…`, or `http://…` in a network you trust; a path is kept. */
  readonly url: string
  /**
   * A bearer token or a ticket of the bridge; sent in the `Authorization` header and nowhere else.
   *
   * A function is called before the first request, and again when the bridge refuses the token it returned last, such
   * as an expired ticket. It has 4 s. If it fails, waiters check on their own until it is called again, as if the
   * bridge were unreachable.
   */
  readonly token: BridgeToken
  /** The prefix of the store's keys; default `lock:`. The notifier does not listen to a bridge with another prefix. */
  readonly prefix?: string | undefined
  /**
   * Sends the requests; default: the global `fetch` at the time of a call. It must stop when the signal is aborted. It
   * is called as a plain function, so bind a method before you pass it. An error that it throws becomes a cause of the
   * event `disconnected` unchanged: keep the request's headers off it.
   */
  readonly fetch?: BridgeFetch | undefined
  /**
   * Called when releases cannot be heard until somebody changes something: see `BridgeRefusal`. Until then waiters
   * check on their own, and the notifier asks the bridge once a minute. It is called once for each cause, until another
   * cause comes or the trouble is over: the bridge answers as it should, and has forbidden no key for two minutes. It
   * is not called when the bridge is unreachable.
   */
  readonly onError?: ((refusal: BridgeRefusal) => void) | undefined
}

/** A bearer token or a ticket of the bridge, or a function that returns one. */
export type BridgeToken = string | (() => string | Promise<string>)

/** Why releases cannot be heard until somebody changes something. */
export interface BridgeRefusal extends Error {
  /**
   * - `refused`: the bridge does not accept the token (401), does not allow a key (403), or does not know the path, as with a wrong
   *   URL. If a 403 names the keys, only their waiters check on their own.
   * - `prefix`: the bridge has a different prefix than the store.
   * - `token`: the token function failed. Its error is the cause; there is no cause if it was too slow. It is called again soon.
   */
  readonly reason: 'refused' | 'prefix' | 'token'
  /** The HTTP status; 0 if there is none. */
  readonly status: number
}

/** The part of `fetch` that is used: the global one of every runtime fits. */
export type BridgeFetch = (url: string, request: BridgeRequest) => Promise<BridgeAnswer>

export interface BridgeRequest {
  readonly headers: Record<string, string>
  readonly redirect: 'manual'
  readonly signal: AbortSignal
  readonly cache?: 'no-store'
}

export interface BridgeAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: BridgeBody | null
}

export interface BridgeBody {
  getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: unknown }> }
  cancel(): Promise<void>
}

/**
 * Sends nothing.
 *
 * @throws InvalidOptionError for a URL or token that cannot work in a request; its message shows neither
 */
export function checkEndpoint({ url, token }: BridgeEndpoint): void {
  // The error of fetch would show a password in the URL.
  demandOption(/^https?:\/\/[^\s\\?#@]+$/i.test(url), 'url', url ? 'an http(s) URL without query' : unset)
  if (typeof token !== 'function') demandToken(token)
}

/** The end of the message for an environment variable that is not set: the option must be … */
const unset = 'set: it is empty or undefined'

/** @throws InvalidOptionError for what a header cannot carry; the error of fetch would show the token. */
export function demandToken(token: string): string {
  demandOption(/^[!-~]+$/.test(token ?? ''), 'token', token ? 'without spaces' : unset)
  return token
}
