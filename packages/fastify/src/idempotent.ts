import type { Locker } from '@leasehold/core'
import { demandObject, demandOption } from '@leasehold/core/adapter'
import { answerOf } from '@leasehold/core/requests'
import {
  type IdempotentOptions as HandleOptions,
  idempotent as idempotentHandle,
  type WorkContext,
} from '@leasehold/idempotency'
import type { FastifyRequest, RouteGenericInterface } from 'fastify'
import type { FastifyCall, Handler } from './call.ts'
import { handlerOf } from './handler.ts'

/** The options of `@leasehold/idempotency`, with a scope of the request of Fastify. */
export interface IdempotentOptions<R extends RouteGenericInterface = RouteGenericInterface>
  extends Omit<HandleOptions, 'scope'> {
  /** Records are kept in the store of this locker. */
  readonly locks: Locker
  /**
   * Whose keys these are, such as the tenant or the user: text, or a function of the request. Two callers with one scope share
   * their keys, and one of them may be answered with what the other was. An empty scope is refused with a 500.
   */
  readonly scope: string | ((request: FastifyRequest<R>) => string | Promise<string>)
}

/** Answers a web request, once for its key. `run` is undefined for a request that passes through unguarded. */
export type IdempotentHandler<R extends RouteGenericInterface = RouteGenericInterface> = (
  web: Request,
  call: FastifyCall<R> & WorkContext,
) => Response | Promise<Response>

/**
 * Makes a handler of Fastify that runs once for each `Idempotency-Key`, and replays its answer to every retry. What the handler throws
 * goes to the error handler of the app, and is no answer: the key is then in doubt. So let it return what it means as an answer.
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
  demandObject(options)
  demandOption(typeof work === 'function', 'handler', 'a function of a request: idempotent(options, handler)')
  const calls = new WeakMap<Request, FastifyRequest<R>>()
  const { scope, ...rest } = options
  const handle = idempotentHandle({
    ...rest,
    scope: typeof scope === 'function' ? (web) => scope(calls.get(web) as FastifyRequest<R>) : scope,
  })
  return handlerOf<R>((web, call) => {
    calls.set(web, call.request)
    return handle(web, (handed, context) => answerOf(work(handed, { ...call, ...context })))
  })
}
