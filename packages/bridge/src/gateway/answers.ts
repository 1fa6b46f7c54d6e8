import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { BadRequestError } from './command-json.ts'
import { UnansweredError } from './gateway-redis.ts'
import { errorJson } from './reply-json.ts'

export const answerJson = (c: Context, json: string, status: ContentfulStatusCode = 200): Response =>
  c.body(json, status, { 'content-type': 'application/json' })

/** The form in which this protocol tells of every error; its text begins with a code, as those of Redis do. */
export const answerError = (c: Context, status: ContentfulStatusCode, error: string): Response =>
  answerJson(c, errorJson(error), status)

/**
 * What went wrong before Redis answered. Nothing of it reaches the client but what is written here: an error of a client
 * library may hold the command, and with it a lock's token.
 */
export function answerFailure(c: Context, problem: unknown): Response | undefined {
  if (problem instanceof BadRequestError) return answerError(c, 400, `ERR ${problem.message}`)
  if (!(problem instanceof UnansweredError)) return undefined
  return problem.executed === 'no'
    ? answerError(c, 503, 'UNAVAILABLE the gateway has no connection to Redis; nothing was carried out')
    : answerError(c, 504, 'UNANSWERED Redis did not answer in time; it may have been carried out')
}
