import { AcquireTimeoutError, demandObject, demandOption, LeaseLostError } from '../errors.ts'
import type { Lease } from '../lease/lease.ts'
import { type AcquireOptions, checkAcquireOptions } from '../options.ts'
import { lockRefusal } from './lock-refusal.ts'
import { problemParts } from './problem.ts'

/** The part of a locker that guards requests. A wrapper around a locker also fits. */
export interface RequestLocks {
  withLock<T>(key: string, options: AcquireOptions, work: (lease: Lease) => Promise<T>): Promise<T>
}

/**
 * The options of `acquire` pass through, except for `signal`: the wait ends when the client leaves. Functions are given
 * the web request, or what a framework has in its place.
 */
export interface LockedRequestOptions<Asked = Request> extends Omit<AcquireOptions, 'signal'> {
  /** A locker, or a function that returns the locker for a request. */
  readonly locks: RequestLocks | ((request: Asked) => RequestLocks)
  /**
   * Returns the key of the lock that a request needs. The client may send any text, so begin each kind of key with a
   * prefix of its own.
   */
  readonly key: (request: Asked) => string | Promise<string>
  /** The status, or a function that answers, if somebody holds the lock until `wait` is over; default 409. */
  readonly onContended?:
    | 409
    | 423
    | ((request: Asked, error: AcquireTimeoutError) => Response | Promise<Response>)
    | undefined
  /**
   * Answers in place of the work if the lease was lost meanwhile, and is given the work's own answer. By default the
   * work's answer is sent, with the header `Lease-Lost`.
   */
  readonly onLost?:
    | ((request: Asked, error: LeaseLostError, answer: Response) => Response | Promise<Response>)
    | undefined
  /** The beginning of each problem's `type`; default `/problems/`. */
  readonly problems?: string | undefined
}

/** Answers a request under its lock. */
export type LockedWork = (request: Request, lease: Lease) => Response | Promise<Response>

/**
 * Runs work for one request under its lock, or answers why it does not: 409 or 423 if the lock is held, 503 if the
 * store does not answer or the server is shutting down. Rejects with what the work throws, and with the reason of the
 * request's signal if the client leaves during the wait. `asked` is what the options' functions are given; by default,
 * the request itself.
 */
export type LockedRequestHandle<Asked = Request> = (
  request: Request,
  work: LockedWork,
  ...asked: Request extends Asked ? [asked?: Asked] : [asked: Asked]
) => Promise<Response>

/**
 * Makes a function that answers web requests under a lock. The lock is given back before the response is returned, so a
 * body that still streams is not covered. The packages for frameworks build on this function.
 *
 * @example
 * ```ts
 * const handle = lockedRequest({ locks, key: (request) => `order:${new URL(request.url).pathname}`, wait: '3s' })
 * const response = await handle(request, async (request, { fence, signal }) => Response.json(await ship({ fence, signal })))
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function lockedRequest<Asked = Request>(options: LockedRequestOptions<Asked>): LockedRequestHandle<Asked> {
  const { locks, key, onContended, onLost, problems, acquire } = checked(options)
  return async (request, work, ...[given]) => {
    const asked = (given ?? request) as Asked
    const name = await key(asked)
    demandOption(typeof name === 'string', 'key', 'a function that returns text')
    const calls = typeof locks === 'function' ? locks(asked) : locks
    let began = false
    let answer: Response | undefined
    try {
      return await calls.withLock(name, { ...acquire, signal: request.signal }, async (lease) => {
        began = true
        answer = await work(request, lease)
        return answer
      })
    } catch (error) {
      if (!began) return refused(asked, error)
      if (!answer || !(error instanceof LeaseLostError)) throw error
      if (onLost) return onLost(asked, error, answer)
      const told = new Response(answer.body, answer)
      told.headers.set('Lease-Lost', error.reason)
      return told
    }
  }

  function refused(asked: Asked, error: unknown): Response | Promise<Response> {
    if (typeof onContended === 'function' && error instanceof AcquireTimeoutError) return onContended(asked, error)
    const problem = lockRefusal(error, onContended === 423 ? 423 : 409)
    if (!problem) throw error
    const { body, headers } = problemParts(problems, problem)
    return new Response(body, { status: problem.status, headers })
  }
}

function checked<Asked>(options: LockedRequestOptions<Asked>) {
  demandObject(options)
  const { locks, key, onContended = 409, onLost, problems = '/problems/', ...acquire } = options
  const isFunction = (value: unknown): boolean => typeof value === 'function'
  demandOption(
    isFunction(locks) || isFunction(Object(locks).withLock),
    'locks',
    'a locker, or a function that returns one',
    locks,
  )
  demandOption(isFunction(key), 'key', 'a function of the request')
  const answers = onContended === 409 || onContended === 423 || isFunction(onContended)
  demandOption(answers, 'onContended', '409, 423 or a function')
  demandOption(onLost === undefined || isFunction(onLost), 'onLost', 'a function')
  demandOption(typeof problems === 'string', 'problems', 'the beginning of a URI')
  demandOption(!('signal' in acquire), 'signal', 'left to the request')
  checkAcquireOptions(acquire)
  return { locks, key, onContended, onLost, problems, acquire }
}
