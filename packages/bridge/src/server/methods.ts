import type { MiddlewareHandler } from 'hono'
import { ProblemError } from './problem.ts'

/** Lets these methods pass, and refuses others with an error that names the allowed ones. */
export const methods =
  (...allowed: readonly string[]): MiddlewareHandler =>
  async (c, next) => {
    if (allowed.includes(c.req.method)) return next()
    c.header('allow', allowed.join(', '))
    throw new ProblemError(405, `The method is ${allowed.join(' or ')}`)
  }
