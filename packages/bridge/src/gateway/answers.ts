import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { BadRequestError } from './command-json.ts'
import { UnansweredError } from './gateway-redis.ts'
import { errorJson } from './reply-json.ts'
import { slicedBody } from './sliced-body.ts'

export const answerJson = (c: Context, json: string, status: ContentfulStatusCode = 200): Response =>
  c.body(json, status, { 'content-type': 'application/json' })

/** The largest reply that is written in one go, in bytes: less than a slice of a larger one. */
const smallBytes = 32_768

/** @param bytes how large the reply is, as `boundedReplies` counts */
export const answerPieces = (
  c: Context,
  pieces: Iterable<string>,
  bytes: number,
  status: ContentfulStatusCode = 200,
): Response =>
  bytes <= smallBytes
    ? answerJson(c, [...pieces].join(''), status)
    : c.body(slicedBody(pieces), status, { 'content-type': 'application/json' })

/** When to come back, in seconds: the gateway tries to reconnect every second. */
const retryAfterSeconds = '1'

/** Answers with an error in the one form that this protocol has. Its text begins with a code, like Redis's errors. */
export function answerError(c: Context, status: ContentfulStatusCode, error: string): Response {
  if (status === 429 || status === 503) c.header('retry-after', retryAfterSeconds)
  return answerJson(c, errorJson(error), status)
}

/** The answer to a request whose URL cannot be parsed. No app has seen the request. */
export const unreadableAddress = (): Response =>
  new Response(errorJson('ERR the address cannot be read'), {
    status: 400,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  })

/**
 * Answers with what went wrong before Redis answered. The client sees only what is written here: an error from a client
 * library may contain the command, and with it a lock's token.
 */
export function answerFailure(c: Context, problem: unknown): Response | undefined {
  if (problem instanceof BadRequestError) return answerError(c, 400, `ERR ${problem.message}`)
  if (!(problem instanceof UnansweredError)) return undefined
  return problem.executed === 'no'
    ? answerError(c, 503, 'UNAVAILABLE the gateway has no connection to Redis; nothing was carried out')
    : answerError(c, 504, 'UNANSWERED Redis did not answer in time; it may have been carried out')
}
