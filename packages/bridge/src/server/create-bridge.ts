import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { access } from './access.ts'
import { type BridgeOptions, type CheckedOptions, checkOptions } from './bridge-options.ts'
import type { BridgeParts } from './bridge-parts.ts'
import { addHealthRoutes } from './health-routes.ts'
import { ProblemError, problem } from './problem.ts'
import { ReleaseWatch } from './release-watch.ts'
import { addWaitRoutes } from './wait-routes.ts'

/** What a bridge needs beside where connections cost something and anybody can ask. */
export interface BridgeHost {
  /** Told that a request which was let in needs Redis from now on; answers what to call once it does not any more. */
  readonly needsRedis?: () => () => void
  /** Whether `/readyz` is answered only to those who are let in: to answer it takes connections. */
  readonly guardsReadiness?: boolean
}

/**
 * Release notifications over HTTP, as a Hono app: run it by itself, or mount it in another app with `route`.
 *
 * | | |
 * |---|---|
 * | `GET /v1/wait?key=K&since=C&timeout=25s` | a long poll: answers when K is free, or is released; 204 when time is up |
 * | `GET /v1/events?key=A&key=B` | an event stream: the state of each key, then every release |
 * | `GET /healthz`, `/readyz` | whether it runs · whether Redis is reachable and listened to; without a token |
 * | `GET /metrics` | numbers, where set up; with a token of its own |
 *
 * A notification is a hint and never a grant, and may be lost; every waiter has a timer of its own beside it. Errors are
 * `application/problem+json`. Nothing is kept: a bridge that is started anew knows as much as one that ran all along.
 *
 * Making one does no I/O and sets no timer; it connects with the first request.
 *
 * @throws InvalidOptionError naming the option.
 */
export const createBridge = (given: BridgeOptions): Hono => bridgeApp(given)

/** The same, told more about where it runs. */
export function bridgeApp(given: BridgeOptions, host: BridgeHost = {}): Hono {
  const options = quiet(checkOptions(given))
  const { signal, origins, clock, onEvent } = options
  const { needsRedis = () => () => undefined, guardsReadiness = false } = host
  const watch = new ReleaseWatch(options)
  signal.addEventListener('abort', () => watch.close(), { once: true })
  const admit = access(options.auth, clock)
  const parts: BridgeParts = {
    options,
    watch,
    prefix: encodeURIComponent(options.prefix),
    clientOf: (c) => admit(c.req.header('authorization')),
    needsRedis,
  }

  const app = new Hono()
  const refuse = (c: Context, refusal: ProblemError): Response => {
    // A client that has left was not refused.
    if (!c.req.raw.signal.aborted) onEvent({ type: 'refused', status: refusal.status })
    return problem(c, refusal)
  }
  // All refusals come by here, so that no middleware is in the way of who waits: it would keep its frame for as long.
  app.onError((error, c) => {
    if (error instanceof ProblemError) return refuse(c, error)
    onEvent({ type: 'failed', error })
    return refuse(c, new ProblemError(500, 'The bridge failed'))
  })
  app.notFound((c) => {
    c.header('leasehold-prefix', parts.prefix)
    return refuse(c, new ProblemError(404, 'The paths are /v1/wait and /v1/events'))
  })
  addHealthRoutes(app, parts, guardsReadiness)
  if (origins.length > 0) app.use('/v1/*', crossOrigin(origins))
  addWaitRoutes(app, parts)
  return app
}

const crossOrigin = (origins: readonly string[]): MiddlewareHandler =>
  cors({
    origin: [...origins],
    allowMethods: ['GET'],
    // What the shipped client sends: a page may send nothing that is not named here.
    allowHeaders: ['authorization', 'cache-control'],
    exposeHeaders: ['leasehold-cursor', 'leasehold-prefix', 'retry-after'],
    maxAge: 600,
  })

/** A listener that throws changes nothing. */
const quiet = (options: CheckedOptions): CheckedOptions => ({
  ...options,
  onEvent: (event) => {
    try {
      options.onEvent(event)
    } catch {
      // It has nobody else to tell.
    }
  },
})
