/** A request as a Node server knows it. */
export interface ServerRequest {
  readonly method: string
  /** The full URL. */
  readonly url: string
  /** Names and values, alternating, as received. */
  readonly rawHeaders: readonly string[]
  readonly body: Uint8Array | ReadableStream<Uint8Array> | string | null
  /** Reports when the client leaves. */
  readonly response: ServerResponse
}

/** The part used of a Node server's response, by shape. */
export interface ServerResponse {
  /** Whether its connection is gone. Not reported over HTTP/2. */
  readonly destroyed?: boolean
  readonly writableEnded: boolean
  once(event: 'close', listener: () => void): unknown
}

/** Methods whose requests have no body. */
const withoutBody = new Set(['GET', 'HEAD'])

/**
 * Converts a Node server's request to a web request, whose signal is aborted when the client leaves. For authors of
 * adapters.
 *
 * @example
 * ```ts
 * const request = webRequest({ method: 'POST', url: 'http://localhost/payments', rawHeaders: req.rawHeaders, body, response: res })
 * ```
 *
 * @throws TypeError for a URL or a method that a web request may not have
 */
export function webRequest({ method, url, rawHeaders, body, response }: ServerRequest): Request {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    // HTTP/2 puts the method and the parts of the URL among the headers.
    if (!name.startsWith(':')) headers.append(name, value)
  }
  const client = new AbortController()
  const init = {
    method,
    headers,
    signal: client.signal,
    body: withoutBody.has(method) ? null : (body as BodyInit | null),
  }
  // A streaming body needs `duplex` (Fetch), which the types do not know yet.
  const request = new Request(url, { ...init, duplex: 'half' } as RequestInit)
  const onClose = (): void => {
    // This closure keeps the request reachable until then: a signal that nobody references is never aborted.
    if (!response.writableEnded && !request.signal.aborted) client.abort(new Error('The client has left'))
  }
  // The client may have left while earlier middleware ran.
  if (response.destroyed) onClose()
  else response.once('close', onClose)
  return request
}

/** The headers that describe a body, under their lowercase names. */
interface BodyHeaders {
  readonly 'content-length'?: string | undefined
  readonly 'content-type'?: string | undefined
  readonly 'transfer-encoding'?: string | undefined
}

/**
 * The body of a request that a framework's parser has read: its bytes if the parser kept them, or the same JSON.
 *
 * @throws TypeError if there was a body and the parser kept neither: without it, requests could not be told apart
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
