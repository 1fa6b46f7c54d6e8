import type { AcquireTimeoutError, Lease, LeaseLostError } from '@leasehold/core'
import { demandObject, demandOption } from '@leasehold/core/adapter'
import { type LockedRequestOptions, lockedRequest, type RequestLocks } from '@leasehold/core/requests'
import type { Request as ExpressRequest, RequestHandler } from 'express'
import type { ExpressCall } from './call.ts'
import { handlerOf } from './handler.ts'

/** As `lockedRequest` of `@leasehold/core/requests` has them, with the request of Express in place of the web request. */
export interface LockedOptions extends Omit<LockedRequestOptions, 'locks' | 'key' | 'onContended' | 'onLost'> {
  /** A locker, or a function that returns the one for a request. */
  readonly locks: RequestLocks | ((req: ExpressRequest) => RequestLocks)
  /**
   * Returns the key of the lock that a request needs. What comes from the client may be any text, so begin each kind of key with
   * a prefix of its own.
   */
  readonly key: (req: ExpressRequest) => string | Promise<string>
  /** The status or the answer when somebody holds the lock until `wait` is over; default 409. */
  readonly onContended?:
    | 409
    | 423
    | ((req: ExpressRequest, error: AcquireTimeoutError) => Response | Promise<Response>)
    | undefined
  /** Answers in place of the handler when the lease was lost meanwhile; default: its answer, with the header `Lease-Lost`. */
  readonly onLost?:
    | ((req: ExpressRequest, error: LeaseLostError, answer: Response) => Response | Promise<Response>)
    | undefined
}

/** Answers a web request under its lock. */
export type LockedHandler = (
  request: Request,
  call: ExpressCall & { readonly lease: Lease },
) => Response | Promise<Response>

/**
 * Makes a handler of Express that answers under a lock. The lock is given back before the answer is sent, whatever happens. A body
 * that still streams is not covered. The wait ends when the client leaves.
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
  demandObject(options)
  demandOption(typeof work === 'function', 'work', 'a function of a request')
  const calls = new WeakMap<Request, ExpressRequest>()
  const reqOf = (request: Request): ExpressRequest => calls.get(request) as ExpressRequest
  const { locks, key, onContended, onLost, ...rest } = options
  demandOption(typeof key === 'function', 'key', 'a function of the request')
  const handle = lockedRequest({
    ...rest,
    locks: typeof locks === 'function' ? (request) => locks(reqOf(request)) : locks,
    key: (request) => key(reqOf(request)),
    onContended:
      typeof onContended === 'function' ? (request, error) => onContended(reqOf(request), error) : onContended,
    onLost: onLost && ((request, error, answer) => onLost(reqOf(request), error, answer)),
  })
  return handlerOf((request, call) => {
    calls.set(request, call.req)
    return handle(request, (handed, lease) => work(handed, { ...call, lease }))
  })
}
