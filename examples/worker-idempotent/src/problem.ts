import { StoreUnavailableError } from '@leasehold/core'

/** An error as the client sees it, in the form of RFC 9457. */
export class Problem extends Error {
  readonly status: number
  readonly type: string
  readonly title: string
  readonly headers: Readonly<Record<string, string>>

  /** @param type what went wrong, in hyphenated words */
  constructor(status: number, type: string, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.type = type
    this.title = type.replaceAll('-', ' ')
    this.headers = headers
  }
}

/** Tells the client to retry after this many seconds. */
export const retryAfter = (seconds: number): Readonly<Record<string, string>> => ({ 'retry-after': String(seconds) })

export function problemResponse(error: unknown): Response {
  const { status, type, title, message: detail, headers } = error instanceof Problem ? error : unexpected(error)
  const body = JSON.stringify({ type: `/problems/${type}`, title, status, detail })
  return new Response(body, { status, headers: { 'content-type': 'application/problem+json', ...headers } })
}

function unexpected(error: unknown): Problem {
  if (error instanceof StoreUnavailableError) {
    return new Problem(503, 'store-unavailable', 'The store does not answer; nothing was done', retryAfter(2))
  }
  console.error(error)
  return new Problem(500, 'internal', 'Something went wrong; it was logged')
}
