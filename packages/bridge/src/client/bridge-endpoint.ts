import { InvalidOptionError } from '@leasehold/core'

/** A bridge: where it is, and what lets us in. */
export interface BridgeEndpoint {
  /** Its URL, `https://…`, or `http://…` in a network you trust; a path is kept. */
  readonly url: string
  /** A bearer token or a ticket of the bridge; sent in the `Authorization` header and nowhere else. */
  readonly token: string
  /**
   * What sends the requests; default: the global `fetch` at the time of a call. It must give its answer up when the signal
   * is aborted. It is called as a plain function, so bind a method before you pass it.
   */
  readonly fetch?: BridgeFetch
  /**
   * Told, once, when the bridge refuses: a bad token or one that has ended (401), a key that the ticket is not for (403), a
   * wrong URL. Somebody has to change something; until then waiters check by themselves, and the bridge is asked once a
   * minute. Not told when the bridge cannot be reached.
   */
  readonly onError?: (refusal: BridgeRefusal) => void
}

/** The bridge will answer the same to the same request. */
export interface BridgeRefusal extends Error {
  /** The HTTP status. */
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
  readonly body: { getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: unknown }> } } | null
  json(): Promise<unknown>
}

/**
 * Sends nothing.
 *
 * @throws InvalidOptionError for what no request could be made with; its message shows neither URL nor token
 */
export function checkEndpoint({ url, token }: BridgeEndpoint): void {
  // Fetch would show a password in its error.
  demandOption(/^https?:\/\/[^\s\\?#@]+$/i.test(url), 'url', 'an http(s) URL without query')
  // What a header cannot carry, fetch would show too.
  demandOption(/^[!-~]+$/.test(token ?? ''), 'token', 'without spaces')
}

/** @throws InvalidOptionError unless it holds, naming the option and what it must be. */
export function demandOption(holds: boolean, option: string, must: string): void {
  if (!holds) throw new InvalidOptionError(option, `must be ${must}`)
}
