import { canonicalJson } from './canonical-json.ts'
import { joined } from './joined.ts'
import { sha256 } from './sha256.ts'

/**
 * Tells requests apart: a hash of the method, the path with its query, the media type and the body. The parameters of the media
 * type do not count, nor does how JSON is written.
 */
export function fingerprintOf(request: Request, body: Uint8Array): Promise<string> {
  const { pathname, search } = new URL(request.url)
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const json = /[/+]json$/.test(mediaType) ? canonicalJson(body) : undefined
  // The text of an array has no line break, so what follows the first is the body.
  const head = JSON.stringify([request.method, pathname + search, mediaType])
  return hashed(joined([utf8(`${head}\n`), json === undefined ? body : utf8(json)]))
}

/** The same of what a user's function says of a request. */
export const hashed = (what: string | Uint8Array): Promise<string> =>
  sha256(typeof what === 'string' ? utf8(what) : joined([what]))

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
