import { demandOption } from '@leasehold/core/adapter'
import { answerOf } from '@leasehold/core/requests'
import {
  type IdempotentOptions as HandleOptions,
  idempotent as idempotentHandle,
  type WorkContext,
} from '@leasehold/idempotency'
import type { Request as ExpressRequest, RequestHandler } from 'express'
import type { ExpressCall } from './call.ts'
import { handlerOf } from './handler.ts'

/** The options of `@leasehold/idempotency`, with a `scope` that is given the Express request. */
export interface IdempotentOptions extends HandleOptions<ExpressRequest> {}

/** Answers a web request, once for its key. `run` is undefined for a request that passes through unguarded. */
export type IdempotentHandler = (request: Request, call: ExpressCall & WorkContext) => Response | Promise<Response>

/**
 * Makes an Express handler that runs once for each `Idempotency-Key`, and replays its answer to every retry. What the
 * handler throws goes to the app's error handlers, and is not an answer: the key is then in doubt. So return what is
 * meant as an answer.
 *
 * @example
 * ```ts
 * app.post('/payments', idempotent({ locks, scope: (req) => req.user.id }, async (request, { run }) => {
 *   const receipt = await pay(await request.json(), { idempotencyKey: run?.key })
 *   return Response.json(receipt, { status: 201 })
 * }))
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function idempotent(options: IdempotentOptions, work: IdempotentHandler): RequestHandler {
  demandOption(typeof work === 'function', 'handler', 'a function of a request: idempotent(options, handler)')
  const handle = idempotentHandle(options)
  return handlerOf((request, call) =>
    handle(request, (handed, context) => answerOf(work(handed, { ...call, ...context })), { asked: call.req }),
  )
}
