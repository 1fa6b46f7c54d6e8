import { canonicalJson } from './canonical-json.ts'
import { joined } from './joined.ts'
import { sha256 } from './sha256.ts'

/**
 * Tells requests apart: a hash of the method, the path with its query, the media type and the body. The parameters of
 * the media type are ignored, and so is the formatting of JSON.
 */
export function fingerprintOf(request: Request, body: Uint8Array): Promise<string> {
  const { pathname, search } = new URL(request.url)
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const json = /[/+]json$/.test(mediaType) ? canonicalJson(body) : undefined
  // A serialized array has no line break, so everything after the first one is the body.
  const head = JSON.stringify([request.method, pathname + search, mediaType])
  return hashed(joined([utf8(`${head}\n`), json === undefined ? body : utf8(json)]))
}

/** The hash of what the user's `fingerprint` function returns. */
export const hashed = (what: string | Uint8Array): Promise<string> =>
  sha256(typeof what === 'string' ? utf8(what) : new Uint8Array(what))

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
