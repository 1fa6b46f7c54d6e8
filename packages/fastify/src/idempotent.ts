import { demandOption } from '@leasehold/core/adapter'
import { answerOf } from '@leasehold/core/requests'
import {
  type IdempotentOptions as HandleOptions,
  idempotent as idempotentHandle,
  type WorkContext,
} from '@leasehold/idempotency'
import type { FastifyRequest, RouteGenericInterface } from 'fastify'
import type { FastifyCall, Handler } from './call.ts'
import { handlerOf } from './handler.ts'

/** The options of `@leasehold/idempotency`, with a `scope` that is given the Fastify request. */
export interface IdempotentOptions<R extends RouteGenericInterface = RouteGenericInterface>
  extends HandleOptions<FastifyRequest<R>> {}

/** Answers a web request, once for its key. `run` is undefined for a request that passes through unguarded. */
export type IdempotentHandler<R extends RouteGenericInterface = RouteGenericInterface> = (
  web: Request,
  call: FastifyCall<R> & WorkContext,
) => Response | Promise<Response>

/**
 * Makes a Fastify handler that runs once for each `Idempotency-Key`, and replays its answer to every retry. What the
 * handler throws goes to the app's error handler, and is not an answer: the key is then in doubt. So return what is
 * meant as an answer.
 *
 * @example
 * ```ts
 * app.post('/payments', idempotent({ locks, scope: ({ user }) => user.id }, async (web, { run }) => {
 *   const receipt = await pay(await web.json(), { idempotencyKey: run?.key })
 *   return Response.json(receipt, { status: 201 })
 * }))
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function idempotent<R extends RouteGenericInterface = RouteGenericInterface>(
  options: IdempotentOptions<R>,
  work: IdempotentHandler<R>,
): Handler<R> {
  demandOption(typeof work === 'function', 'handler', 'a function of a request: idempotent(options, handler)')
  const handle = idempotentHandle(options)
  return handlerOf<R>((web, call) =>
    handle(web, (handed, context) => answerOf(work(handed, { ...call, ...context })), { asked: call.request }),
  )
}
