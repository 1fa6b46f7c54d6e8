import type { Locker } from '@leasehold/core'
import { demandObject, demandOption } from '@leasehold/core/adapter'
import {
  checkIdempotentOptions,
  type IdempotentOptions as HandleOptions,
  type IdempotentHandle,
  type IdempotentWork,
  idempotent as idempotentHandle,
  type OngoingRun,
  replayedHeaders,
} from '@leasehold/idempotency'
import type { Context, Env, MiddlewareHandler } from 'hono'
import { answerInstead } from './answer-instead.ts'
import { clientGone } from './client-gone.ts'
import { waitUntilOf } from './keep-alive.ts'
import { checkLocks, type LocksOption, locksFor } from './locks.ts'
import { readable } from './readable.ts'

/** The options of `@leasehold/idempotency` pass through, with a `scope` that is given the context. */
export interface IdempotentOptions<E extends Env = Env, Name extends string = 'run'>
  extends Omit<HandleOptions<Context<E>>, 'locks'> {
  /** A locker, or a function that returns the one for a request. Records are kept in its store. */
  readonly locks: LocksOption<Locker, E>
  /**
   * The context variable that holds the run; default `run`. It is undefined for a request that passes through
   * unguarded.
   */
  readonly as?: Name | undefined
  /**
   * Whether an error that a handler threw is its answer: then the response that the app's `onError` made counts, by its
   * status. With other errors it is unknown what was done before, so `endings.thrown` decides. Default: errors with a
   * `getResponse`, such as an `HTTPException`.
   */
  readonly isAnswer?: ((error: Error) => boolean) | undefined
}

/**
 * Makes middleware that runs what comes after it once for each `Idempotency-Key`, and replays the answer to every
 * retry.
 *
 * @example
 * ```ts
 * app.post('/payments', idempotent({ locks, scope: (c) => c.get('tenant') }), async (c) => {
 *   const receipt = await pay(await c.req.json(), { idempotencyKey: c.var.run?.key })
 *   return c.json(receipt, 201)
 * })
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
// biome-ignore lint/suspicious/noExplicitAny: as everywhere in Hono, the context of a callback is that of any app
export function idempotent<E extends Env = any, const Name extends string = 'run'>(
  options: IdempotentOptions<E, Name>,
): MiddlewareHandler<{ Variables: Record<Name, OngoingRun | undefined> }> {
  demandObject(options)
  const { as = 'run', isAnswer = hasResponse, ...rest } = options
  demandOption(typeof as === 'string' && as !== '', 'as', 'the name of a variable')
  demandOption(typeof isAnswer === 'function', 'isAnswer', 'a function of the error')
  const handleFor = handles(rest)
  const recorded = new Set(replayedHeaders(rest.headers))
  return async (context, next) => {
    const c: Context = context
    // A handle recognizes a request that it has handed out, but not a copy of it.
    const request = handed.has(c.req.raw) ? c.req.raw : await readable(c)
    const outer = c.newResponse(null).headers
    let ran = false
    const work: IdempotentWork = async (guarded, { run }) => {
      if (run) handed.add(guarded)
      c.req.raw = guarded
      c.set(as, run)
      await next()
      ran = true
      // Hono has turned what the handler threw into an answer, but the rules for thrown errors must see the error. If a
      // handler returns nothing, Hono throws later, unless somebody reads `c.res`.
      if (!c.finalized || (c.error && !isAnswer(c.error))) throw c.error
      return c.res
    }
    try {
      const answer = await handleFor(c)(request, work, { waitUntil: waitUntilOf(c), asked: c })
      if (!ran || answer !== c.res) answerInstead(c, answer, { outer, recorded })
    } catch (error) {
      if (ran && error === c.error) return undefined
      const gone = !ran && clientGone(c, error)
      if (gone) return gone
      // The answer's body broke off. The answer to this error must have none of its headers.
      if (ran) c.res = undefined
      throw error
    }
    return undefined
  }
}

/** The requests of runs. A route may have `idempotent` twice by mistake. */
const handed = new WeakSet<Request>()

const hasResponse = (error: Error): boolean => 'getResponse' in error

/** Makes one handle for each locker. The options are checked at once. */
function handles<E extends Env>({ locks, ...rest }: Omit<IdempotentOptions<E>, 'as' | 'isAnswer'>) {
  checkLocks(locks, 'acquire')
  const made = new WeakMap<Locker, IdempotentHandle<Context<E>>>()
  function handleOver(locker: Locker): IdempotentHandle<Context<E>> {
    const handle = idempotentHandle<Context<E>>({ ...rest, locks: locker })
    made.set(locker, handle)
    return handle
  }
  if (typeof locks !== 'function') handleOver(locks)
  else checkIdempotentOptions<Context<E>>(rest)
  return (c: Context<E>): IdempotentHandle<Context<E>> => {
    const locker = locksFor(c, locks)
    return made.get(locker) ?? handleOver(locker)
  }
}
