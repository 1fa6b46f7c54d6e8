import { InvalidOptionError } from '@leasehold/core'

/**
 * The headers that are kept, because they say what the operation made and what the body is. Not `Retry-After`, which counts from
 * when it was said, and nothing about the connection, the caller or the origin: those are the next request's own.
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

/** @throws InvalidOptionError naming a header that must not be replayed */
export function keptHeaders(more: ReadonlySet<string>): readonly string[] {
  for (const name of more) {
    if (never.test(name)) throw new InvalidOptionError('headers', `has "${name}", which belongs to one answer alone`)
  }
  return [...new Set([...usual, ...more])]
}
