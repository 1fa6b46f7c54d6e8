/** A request as a server of Node knows it. */
export interface ServerRequest {
  readonly method: string
  /** The whole address. */
  readonly url: string
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: Uint8Array | ReadableStream<Uint8Array> | string | null
  /** Tells when the client leaves. */
  readonly response: ServerResponse
}

/** What is used of the response of a server of Node, by shape. */
export interface ServerResponse {
  /** Whether its connection is gone. Over HTTP/2 it does not say. */
  readonly destroyed?: boolean
  readonly writableEnded: boolean
  once(event: 'close', listener: () => void): unknown
}

/** Methods whose requests have no body. */
const withoutBody = new Set(['GET', 'HEAD'])

/**
 * Makes the web request that a server's request is. Its signal is aborted when the client leaves. For authors of adapters.
 *
 * @example
 * ```ts
 * const request = webRequest({ method: 'POST', url: 'http://localhost/payments', rawHeaders: req.rawHeaders, body, response: res })
 * ```
 *
 * @throws TypeError for an address or a method that no web request may have
 */
export function webRequest({ method, url, rawHeaders, body, response }: ServerRequest): Request {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    // HTTP/2 has the method and the address among its headers.
    if (!name.startsWith(':')) headers.append(name, value)
  }
  const client = new AbortController()
  const init = {
    method,
    headers,
    signal: client.signal,
    body: withoutBody.has(method) ? null : (body as BodyInit | null),
  }
  // A body that streams says so (Fetch, `duplex`); types do not know it yet.
  const request = new Request(url, { ...init, duplex: 'half' } as RequestInit)
  const onClose = (): void => {
    // The request is held until then: a signal that nobody holds is never aborted.
    if (!response.writableEnded && !request.signal.aborted) client.abort(new Error('The client has left'))
  }
  // It may have left while earlier middleware ran.
  if (response.destroyed) onClose()
  else response.once('close', onClose)
  return request
}

/** The headers that tell of a body, by their names in lower case. */
interface BodyHeaders {
  readonly 'content-length'?: string | undefined
  readonly 'content-type'?: string | undefined
  readonly 'transfer-encoding'?: string | undefined
}

/**
 * The body of a request that a parser of the framework has read: its bytes if it kept them, or the same JSON.
 *
 * @throws TypeError if a body came and the parser has kept neither: without it, requests could not be told apart
 */
export function parsedBody(parsed: unknown, headers: BodyHeaders): Uint8Array | string | null {
  const type = headers['content-type'] ?? ''
  const came = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (parsed === undefined && !came) return null
  if (parsed instanceof Uint8Array || typeof parsed === 'string') return parsed
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(type)
  if (parsed !== undefined && isJson) return JSON.stringify(parsed)
  throw new TypeError(`The body was read before, as ${type || 'an unknown type'}; let its parser keep the bytes`)
}
