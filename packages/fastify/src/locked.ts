import type { Lease } from '@leasehold/core'
import { demandOption } from '@leasehold/core/adapter'
import { answerOf, type LockedRequestOptions, lockedRequest } from '@leasehold/core/requests'
import type { FastifyRequest, RouteGenericInterface } from 'fastify'
import type { FastifyCall, Handler } from './call.ts'
import { handlerOf } from './handler.ts'

/**
 * The options of `lockedRequest` of `@leasehold/core/requests`, with the Fastify request in place of the web request.
 */
export interface LockedOptions<R extends RouteGenericInterface = RouteGenericInterface>
  extends LockedRequestOptions<FastifyRequest<R>> {}

/** Answers a web request under its lock. */
export type LockedHandler<R extends RouteGenericInterface = RouteGenericInterface> = (
  web: Request,
  call: FastifyCall<R> & { readonly lease: Lease },
) => Response | Promise<Response>

/**
 * Makes a Fastify handler that answers under a lock. The lock is released before the answer is sent, whatever happens.
 * A body that is still streaming is not covered. The wait ends when the client leaves.
 *
 * @example
 * ```ts
 * interface Order {
 *   Params: { id: string }
 * }
 * const ship = locked<Order>({ locks, key: ({ params }) => `order:${params.id}`, wait: '3s' }, async (web, { lease, request }) =>
 *   Response.json(await send(request.params.id, await web.json(), { fence: lease.fence })),
 * )
 * app.put<Order>('/orders/:id', ship)
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function locked<R extends RouteGenericInterface = RouteGenericInterface>(
  options: LockedOptions<R>,
  work: LockedHandler<R>,
): Handler<R> {
  demandOption(typeof work === 'function', 'handler', 'a function of a request: locked(options, handler)')
  const handle = lockedRequest(options)
  return handlerOf<R>((web, call) =>
    handle(web, (handed, lease) => answerOf(work(handed, { ...call, lease })), call.request),
  )
}
