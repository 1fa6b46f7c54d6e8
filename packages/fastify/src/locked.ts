import type { AcquireTimeoutError, Lease, LeaseLostError } from '@leasehold/core'
import { demandObject, demandOption } from '@leasehold/core/adapter'
import { type LockedRequestOptions, lockedRequest, type RequestLocks } from '@leasehold/core/requests'
import type { FastifyRequest, RouteGenericInterface } from 'fastify'
import type { FastifyCall, Handler } from './call.ts'
import { handlerOf } from './handler.ts'

/** As `lockedRequest` of `@leasehold/core/requests` has them, with the request of Fastify in place of the web request. */
export interface LockedOptions<R extends RouteGenericInterface = RouteGenericInterface>
  extends Omit<LockedRequestOptions, 'locks' | 'key' | 'onContended' | 'onLost'> {
  /** A locker, or a function that returns the one for a request. */
  readonly locks: RequestLocks | ((request: FastifyRequest<R>) => RequestLocks)
  /**
   * Returns the key of the lock that a request needs. What comes from the client may be any text, so begin each kind of key with
   * a prefix of its own.
   */
  readonly key: (request: FastifyRequest<R>) => string | Promise<string>
  /** The status or the answer when somebody holds the lock until `wait` is over; default 409. */
  readonly onContended?:
    | 409
    | 423
    | ((request: FastifyRequest<R>, error: AcquireTimeoutError) => Response | Promise<Response>)
    | undefined
  /** Answers in place of the handler when the lease was lost meanwhile; default: its answer, with the header `Lease-Lost`. */
  readonly onLost?:
    | ((request: FastifyRequest<R>, error: LeaseLostError, answer: Response) => Response | Promise<Response>)
    | undefined
}

/** Answers a web request under its lock. */
export type LockedHandler<R extends RouteGenericInterface = RouteGenericInterface> = (
  web: Request,
  call: FastifyCall<R> & { readonly lease: Lease },
) => Response | Promise<Response>

/**
 * Makes a handler of Fastify that answers under a lock. The lock is given back before the answer is sent, whatever happens. A body
 * that still streams is not covered. The wait ends when the client leaves.
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
  demandObject(options)
  demandOption(typeof work === 'function', 'work', 'a function of a request')
  const calls = new WeakMap<Request, FastifyRequest<R>>()
  const requestFor = (web: Request): FastifyRequest<R> => calls.get(web) as FastifyRequest<R>
  const { locks, key, onContended, onLost, ...rest } = options
  demandOption(typeof key === 'function', 'key', 'a function of the request')
  const handle = lockedRequest({
    ...rest,
    locks: typeof locks === 'function' ? (web) => locks(requestFor(web)) : locks,
    key: (web) => key(requestFor(web)),
    onContended: typeof onContended === 'function' ? (web, error) => onContended(requestFor(web), error) : onContended,
    onLost: onLost && ((web, error, answer) => onLost(requestFor(web), error, answer)),
  })
  return handlerOf<R>((web, call) => {
    calls.set(web, call.request)
    return handle(web, (handed, lease) => work(handed, { ...call, lease }))
  })
}
