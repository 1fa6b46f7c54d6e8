import { AcquireTimeoutError, LeaseLostError, StoreUnavailableError } from '@leasehold/core'

/** An error as the client sees it, in the form of RFC 9457. */
export class Problem extends Error {
  readonly status: number
  readonly type: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, type: string, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.type = type
    this.headers = headers
  }
}

/** Tells the client to ask again after so many seconds. */
export const retryAfter = (seconds: number): Readonly<Record<string, string>> => ({ 'retry-after': String(seconds) })

export function problemResponse(error: unknown): Response {
  const { status, type, message: detail, headers } = problemOf(error)
  const body = JSON.stringify({ type: `/problems/${type}`, status, detail })
  return new Response(body, { status, headers: { 'content-type': 'application/problem+json', ...headers } })
}

/** Turns an error into an answer. "Somebody holds it" and "the store is down" are different answers. */
function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof AcquireTimeoutError) {
    return new Problem(409, 'in-progress', 'Another request with this key is in progress; ask again', retryAfter(1))
  }
  if (error instanceof StoreUnavailableError) {
    return new Problem(503, 'store-unavailable', 'The store does not answer; this request paid nothing', retryAfter(2))
  }
  if (error instanceof LeaseLostError) {
    return new Problem(500, 'lease-lost', 'The lock was lost during the work; ask again for the outcome', retryAfter(1))
  }
  console.error(error)
  return new Problem(500, 'internal', 'Something went wrong; it was logged')
}
