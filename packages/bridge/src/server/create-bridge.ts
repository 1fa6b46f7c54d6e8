import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { access } from './access.ts'
import { type BridgeOptions, type CheckedOptions, checkOptions } from './bridge-options.ts'
import type { BridgeParts } from './bridge-parts.ts'
import { addHealthRoutes } from './health-routes.ts'
import { ProblemError, problem } from './problem.ts'
import { ReleaseWatch } from './release-watch.ts'
import { addWaitRoutes } from './wait-routes.ts'

/** How a bridge behaves where connections are billed and anybody can send requests. */
export interface BridgeHost {
  /** Called when an admitted request starts to need Redis. Returns a function to call when it no longer does. */
  readonly needsRedis?: () => () => void
  /** Whether `/readyz` requires a credential, because answering it needs connections. */
  readonly guardsReadiness?: boolean
}

/**
 * Release notifications over HTTP, as a Hono app: run it on its own, or mount it in another app with `route`.
 *
 * | | |
 * |---|---|
 * | `GET /v1/wait?key=K&since=C&timeout=25s` | a long poll: answers when K is free, or is released; 204 when time is up |
 * | `GET /v1/events?key=A&key=B` | an event stream: the state of each key, then every release |
 * | `GET /healthz`, `/readyz` | whether it runs · whether Redis is reachable and listened to; no token needed |
 * | `GET /metrics` | metrics, if set up; with a token of its own |
 *
 * A notification is a hint and never a grant, and may be lost, so every waiter also has its own timer. Errors are
 * `application/problem+json`. The bridge stores nothing: one that was just started knows as much as one that ran all along.
 *
 * Creating a bridge does no I/O and sets no timer. It connects on the first request.
 *
 * @throws InvalidOptionError naming the option.
 */
export const createBridge = (given: BridgeOptions): Hono => bridgeApp(given)

/** Like `createBridge`, for a host with behavior of its own. */
export function bridgeApp(given: BridgeOptions, host: BridgeHost = {}): Hono {
  const options = quiet(checkOptions(given))
  const { signal, origins, clock, onEvent } = options
  const { needsRedis = () => () => undefined, guardsReadiness = false } = host
  const watch = new ReleaseWatch(options)
  if (signal.aborted) watch.close()
  else signal.addEventListener('abort', () => watch.close(), { once: true })
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
    // A client that has left is not refused.
    if (!c.req.raw.signal.aborted) onEvent({ type: 'refused', status: refusal.status })
    return problem(c, refusal)
  }
  // All refusals end here rather than in a middleware, which would keep its frame for as long as somebody waits.
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
    // The headers that `@leasehold/bridge-client` sends. A page may send no others.
    allowHeaders: ['authorization', 'cache-control'],
    exposeHeaders: ['leasehold-cursor', 'leasehold-kept', 'leasehold-prefix', 'retry-after'],
    maxAge: 600,
  })

/** Wraps the listener: if it throws, nothing changes. */
const quiet = (options: CheckedOptions): CheckedOptions => ({
  ...options,
  onEvent: (event) => {
    try {
      options.onEvent(event)
    } catch {
      // There is nowhere else to report the error.
    }
  },
})
