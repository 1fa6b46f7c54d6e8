import { InvalidOptionError } from '@leasehold/core'

/**
 * The headers that are always kept: they say what the operation produced and what the body is. Not `Retry-After`, which
 * counts from when it was sent, and nothing about the connection, the caller or the origin: those differ with each
 * request.
 */
const usual = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'etag',
  'last-modified',
  'link',
  'location',
]

/** Credentials of the first caller, and headers of one connection or of one message. */
const never =
  /^(set-cookie2?|connection|content-length|date|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|idempotency-re(played|corded))$/

/**
 * The names of the headers that a replay takes from its record, in lower case. Code that adds headers to a handle's
 * answers must leave these to the record on a replay.
 *
 * @param more the option `headers` of the handle
 * @example
 * ```ts
 * replayedHeaders(['X-Receipt']).includes('x-receipt') // true
 * ```
 *
 * @throws InvalidOptionError naming a header that must not be replayed
 */
export const replayedHeaders = (more: readonly string[] = []): readonly string[] =>
  keptHeaders(new Set(more.map((name) => name.toLowerCase())))

/** @throws InvalidOptionError naming a header that must not be replayed */
export function keptHeaders(more: ReadonlySet<string>): readonly string[] {
  for (const name of more) {
    if (never.test(name)) throw new InvalidOptionError('headers', `has "${name}", which belongs to one answer alone`)
  }
  return [...new Set([...usual, ...more])]
}
