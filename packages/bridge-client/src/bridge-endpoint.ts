import { demandOption } from '@leasehold/core/adapter'

/** A bridge: where it is, and what lets us in. */
export interface BridgeEndpoint {
  /** Its URL, `https://…`, or `http://…` in a network you trust; a path is kept. */
  readonly url: string
  /**
   * A bearer token or a ticket of the bridge; sent in the `Authorization` header and nowhere else.
   *
   * A function is called before the first request, and again when the bridge does not take its last answer, such as a ticket
   * that has ended. It has 4 s. If it fails, waiters check by themselves until it is called again, as if the bridge could not
   * be reached.
   */
  readonly token: BridgeToken
  /** The prefix of the store's keys; default `lock:`. The notifier does not listen to a bridge that has another. */
  readonly prefix?: string | undefined
  /**
   * Sends the requests; default: the global `fetch` at the time of a call. It must give up when the signal is aborted. It is
   * called as a plain function, so bind a method before you pass it. An error that it throws becomes a cause of the event
   * `disconnected`, as it is: keep the request's headers off it.
   */
  readonly fetch?: BridgeFetch | undefined
  /**
   * Told why releases cannot be heard, where somebody has to change something: see `BridgeRefusal`. Until then waiters check
   * by themselves, and the notifier asks the bridge once a minute. Told once for each cause, until another comes or the
   * trouble is over. It is over when the bridge answers as it should and has forbidden no key for two minutes. Not told when
   * the bridge cannot be reached.
   */
  readonly onError?: ((refusal: BridgeRefusal) => void) | undefined
}

/** A bearer token or a ticket of the bridge, or a function that answers one. */
export type BridgeToken = string | (() => string | Promise<string>)

/** Why releases cannot be heard until somebody changes something. */
export interface BridgeRefusal extends Error {
  /**
   * - `refused`: the bridge does not take the token (401), does not allow a key (403), or does not know the path, as at a wrong
   *   URL. If a 403 names the keys, only their waiters check by themselves.
   * - `prefix`: the bridge has another prefix than the store.
   * - `token`: the function for the token failed. Its error is the cause; there is none if it was too slow. It is called
   *   again soon.
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
 * @throws InvalidOptionError for what no request could be made with; its message shows neither URL nor token
 */
export function checkEndpoint({ url, token }: BridgeEndpoint): void {
  // Fetch would show a password in its error.
  demandOption(/^https?:\/\/[^\s\\?#@]+$/i.test(url), 'url', url ? 'an http(s) URL without query' : unset)
  if (typeof token !== 'function') demandToken(token)
}

/** What must be done about an environment variable that nobody has set. */
const unset = 'set: it is empty or undefined'

/** @throws InvalidOptionError for what a header cannot carry, which fetch would show, too. */
export function demandToken(token: string): string {
  demandOption(/^[!-~]+$/.test(token ?? ''), 'token', token ? 'without spaces' : unset)
  return token
}
