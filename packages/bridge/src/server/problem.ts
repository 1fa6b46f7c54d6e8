import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'

const titles = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  413: 'Content too large',
  414: 'URL too long',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Unavailable',
} as const

export type ProblemStatus = keyof typeof titles & ContentfulStatusCode

/** When to come back, in seconds, unless a better value is known. Clients add jitter themselves. */
const retryAfterSeconds = 1

/** What a client program may need besides the status. */
export interface ProblemMembers {
  /** 403: the requested keys that are not allowed. */
  readonly keys?: readonly string[]
}

/** The response for an error, in the format of RFC 9457. */
export const problem = (c: Context, error: ProblemError): Response =>
  c.body(bodyOf(error), error.status, headersOf(error))

/** The same, for a request that has not reached the app. */
export const bareProblem = (error: ProblemError): Response =>
  new Response(bodyOf(error), { status: error.status, headers: headersOf(error) })

const bodyOf = ({ status, message, members }: ProblemError): string =>
  JSON.stringify({ type: 'about:blank', title: titles[status], status, detail: message, ...members })

const headersOf = ({ status, retryAfter }: ProblemError): Record<string, string> => ({
  ...noStore,
  'content-type': 'application/problem+json',
  ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  ...((status === 429 || status === 503) && { 'retry-after': String(retryAfter) }),
})

/** A header of every response. */
export const noStore = { 'cache-control': 'no-store' } as const

/** A request that cannot be served as it is. */
export class ProblemError extends Error {
  readonly status: ProblemStatus
  readonly members: ProblemMembers | undefined
  /** When to come back, in seconds. */
  readonly retryAfter: number

  /**
   * @param detail     a sentence for the author of the client
   * @param retryAfter when to come back after a 429 or 503, in seconds
   */
  constructor(status: ProblemStatus, detail: string, members?: ProblemMembers, retryAfter: number = retryAfterSeconds) {
    super(detail)
    this.name = 'ProblemError'
    this.status = status
    this.members = members
    this.retryAfter = retryAfter
  }
}
