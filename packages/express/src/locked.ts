import type { Lease } from '@leasehold/core'
import { demandOption } from '@leasehold/core/adapter'
import { answerOf, type LockedRequestOptions, lockedRequest } from '@leasehold/core/requests'
import type { Request as ExpressRequest, RequestHandler } from 'express'
import type { ExpressCall } from './call.ts'
import { handlerOf } from './handler.ts'

/**
 * The options of `lockedRequest` of `@leasehold/core/requests`, with the Express request in place of the web request.
 */
export interface LockedOptions extends LockedRequestOptions<ExpressRequest> {}

/** Answers a web request under its lock. */
export type LockedHandler = (
  request: Request,
  call: ExpressCall & { readonly lease: Lease },
) => Response | Promise<Response>

/**
 * Makes an Express handler that answers under a lock. The lock is released before the answer is sent, whatever happens.
 * A body that is still streaming is not covered. The wait ends when the client leaves.
 *
 * @example
 * ```ts
 * app.put('/orders/:id', locked({ locks, key: (req) => `order:${req.params.id}`, wait: '3s' }, async (request, { lease, req }) =>
 *   Response.json(await ship(req.params.id, await request.json(), { fence: lease.fence })),
 * ))
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function locked(options: LockedOptions, work: LockedHandler): RequestHandler {
  demandOption(typeof work === 'function', 'handler', 'a function of a request: locked(options, handler)')
  const handle = lockedRequest(options)
  return handlerOf((request, call) =>
    handle(request, (handed, lease) => answerOf(work(handed, { ...call, lease })), call.req),
  )
}
