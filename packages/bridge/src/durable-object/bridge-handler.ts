import { Hono } from 'hono'
import { ProblemError, problem } from '../server/problem.ts'
import { type BridgeNamespace, type BridgeStubOptions, bridgeStub } from './bridge-stub.ts'

/** The default export of a Worker. */
export interface BridgeHandler<Env> {
  /** Does not use `this`, so that it can be mounted: `app.mount('/bridge', handler.fetch)`. */
  readonly fetch: (request: Request, env: Env) => Promise<Response>
}

/** The paths that the object answers. Other requests do not wake it. */
const paths = ['/v1/*', '/healthz', '/readyz', '/metrics']

/**
 * Forwards a Worker's requests to the bridge's object. While the object is being replaced or is overloaded, the answer
 * is a 503, and clients come back later.
 *
 * @param namespaceOf returns the object's binding. Without a binding, a request fails with an `InvalidOptionError`.
 */
export function bridgeHandler<Env>(
  namespaceOf: (env: Env) => BridgeNamespace,
  options?: BridgeStubOptions,
): BridgeHandler<Env> {
  const app = new Hono<{ Bindings: Env & object }>()
  for (const path of paths) {
    app.all(path, ({ env, req: { raw } }) =>
      // Passed explicitly, because a forwarded request keeps its signal only with a compatibility flag.
      bridgeStub(namespaceOf(env), options).fetch(raw, { signal: raw.signal }),
    )
  }
  app.notFound((c) => problem(c, new ProblemError(404, 'The paths are /v1/wait and /v1/events')))
  app.onError((error, c) => {
    // A bug, in the settings' function or here: the request fails, and the Worker's log shows it.
    if (!isOfPlatform(error)) throw error
    return problem(c, new ProblemError(503, 'The bridge cannot be reached now; check for yourself and come back'))
  })
  return { fetch: async (request, env) => app.fetch(request, env as Env & object) }
}

/** How Cloudflare marks the errors of an object that is unreachable or overloaded, or that Cloudflare has ended. */
interface PlatformError extends Error {
  readonly retryable?: boolean
  readonly overloaded?: boolean
  readonly durableObjectReset?: boolean
}

const isOfPlatform = ({ retryable, overloaded, durableObjectReset }: PlatformError): boolean =>
  retryable === true || overloaded === true || durableObjectReset === true
