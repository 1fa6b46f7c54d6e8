import type { Locker } from '@leasehold/core'
import { demandObject, demandOption } from '@leasehold/core/adapter'
import { answerOf } from '@leasehold/core/requests'
import {
  type IdempotentOptions as HandleOptions,
  idempotent as idempotentHandle,
  type WorkContext,
} from '@leasehold/idempotency'
import type { Request as ExpressRequest, RequestHandler } from 'express'
import type { ExpressCall } from './call.ts'
import { handlerOf } from './handler.ts'

/** The options of `@leasehold/idempotency`, with a scope of the request of Express. */
export interface IdempotentOptions extends Omit<HandleOptions, 'scope'> {
  /** Records are kept in the store of this locker. */
  readonly locks: Locker
  /**
   * Whose keys these are, such as the tenant or the user: text, or a function of the request. Two callers with one scope share
   * their keys, and one of them may be answered with what the other was. An empty scope is refused with a 500.
   */
  readonly scope: string | ((req: ExpressRequest) => string | Promise<string>)
}

/** Answers a web request, once for its key. `run` is undefined for a request that passes through unguarded. */
export type IdempotentHandler = (request: Request, call: ExpressCall & WorkContext) => Response | Promise<Response>

/**
 * Makes a handler of Express that runs once for each `Idempotency-Key`, and replays its answer to every retry. What the handler throws
 * goes to the error handlers of the app, and is no answer: the key is then in doubt. So let it return what it means as an answer.
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
  demandObject(options)
  demandOption(typeof work === 'function', 'handler', 'a function of a request: idempotent(options, handler)')
  const calls = new WeakMap<Request, ExpressRequest>()
  const { scope, ...rest } = options
  const handle = idempotentHandle({
    ...rest,
    scope: typeof scope === 'function' ? (request) => scope(calls.get(request) as ExpressRequest) : scope,
  })
  return handlerOf((request, call) => {
    calls.set(request, call.req)
    return handle(request, (handed, context) => answerOf(work(handed, { ...call, ...context })))
  })
}
