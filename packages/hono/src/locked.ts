import { type AcquireOptions, type Lease, LeaseLostError } from '@leasehold/core'
import { checkAcquireOptions, demandObject, demandOption } from '@leasehold/core/adapter'
import type { Context, Env, MiddlewareHandler } from 'hono'
import { keepAlive } from './keep-alive.ts'
import { checkLocks, type LocksOption, locksFor } from './locks.ts'
import { type OnContended, refusal } from './refusal.ts'

/** The part of a locker that `locked` uses. A wrapper around one fits, too. */
export interface LockCalls {
  withLock<T>(key: string, options: AcquireOptions, work: (lease: Lease) => Promise<T>): Promise<T>
}

/** The options of an acquire pass through, except `signal`: the wait ends when the client leaves. */
export interface LockedOptions<E extends Env = Env, Name extends string = 'lease'>
  extends Omit<AcquireOptions, 'signal'> {
  /** A locker, or a function that returns the one for a request. */
  readonly locks: LocksOption<LockCalls, E>
  /**
   * Returns the key of the lock that a request needs. Clients may send any text, so begin each kind of key with a
   * prefix of its own.
   */
  readonly key: (c: Context<E>) => string | Promise<string>
  /** The context variable that holds the lease; default `lease`. A route that takes several locks names each. */
  readonly as?: Name | undefined
  /** The status or the answer when somebody holds the lock until `wait` is over; default 409. */
  readonly onContended?: OnContended<E> | undefined
  /**
   * Answers in place of the handler when the lease was lost meanwhile, and is given the handler's own answer. By
   * default that answer is sent, with the header `Lease-Lost`.
   */
  readonly onLost?:
    | ((c: Context<E>, error: LeaseLostError, answer: Response) => Response | Promise<Response>)
    | undefined
  /** What the `type` of each problem begins with; default `/problems/`. */
  readonly problems?: string | undefined
}

/**
 * Makes middleware that runs what comes after it under a lock. The lease is on the context, and is released before the
 * response leaves, whatever happens. A body that is still streaming is not covered: by then the lease says that it is
 * released.
 *
 * @example
 * ```ts
 * app.put('/orders/:id', locked({ locks, key: (c) => `order:${c.req.param('id')}`, wait: '3s' }), async (c) => {
 *   const { fence, signal } = c.var.lease
 *   return c.json(await ship(c.req.param('id'), { fence, signal }))
 * })
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad; later, if `key` does not return text
 */
// biome-ignore lint/suspicious/noExplicitAny: as everywhere in Hono, the context of a callback is that of any app
export function locked<E extends Env = any, const Name extends string = 'lease'>(
  options: LockedOptions<E, Name>,
): MiddlewareHandler<{ Variables: Record<Name, Lease> }> {
  const { locks, key, as, onLost, refusals, acquire } = checked(options)
  return async (context, next) => {
    const c: Context = context
    const name = await key(c)
    demandOption(typeof name === 'string', 'key', 'a function that returns text')
    const locker = locksFor(c, locks)
    const request = { began: false, answered: false }
    const work = async (lease: Lease): Promise<void> => {
      request.began = true
      c.set(as, lease)
      // A handler's error does not arrive here: Hono has turned it into an answer, and set `c.error`.
      await next()
      request.answered = true
    }
    try {
      await keepAlive(c, locker.withLock(name, { ...acquire, signal: c.req.raw.signal }, work))
    } catch (error) {
      if (!request.began) return refusal(c, error, refusals)
      if (!request.answered || !(error instanceof LeaseLostError)) throw error
      if (!onLost) return c.header('Lease-Lost', error.reason)
      const answer = c.res
      // Otherwise Hono would copy its headers to the response that replaces it.
      c.res = undefined
      c.res = await onLost(c, error, answer)
    }
    return undefined
  }
}

function checked<E extends Env, Name extends string>(options: LockedOptions<E, Name>) {
  demandObject(options)
  const { locks, key, as = 'lease', onContended = 409, onLost, problems = '/problems/', ...acquire } = options
  checkLocks(locks, 'withLock')
  demandOption(typeof key === 'function', 'key', 'a function of the context')
  demandOption(typeof as === 'string' && as !== '', 'as', 'the name of a variable')
  demandOption(
    onContended === 409 || onContended === 423 || typeof onContended === 'function',
    'onContended',
    '409, 423 or a function',
  )
  demandOption(onLost === undefined || typeof onLost === 'function', 'onLost', 'a function')
  demandOption(typeof problems === 'string', 'problems', 'the beginning of a URI')
  demandOption(!('signal' in acquire), 'signal', 'left to the request')
  checkAcquireOptions(acquire)
  return { locks, key, as, onLost, refusals: { onContended, problems }, acquire }
}
