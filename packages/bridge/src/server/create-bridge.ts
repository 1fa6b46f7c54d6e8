import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { access, type Client } from './access.ts'
import { type BridgeOptions, type CheckedOptions, checkOptions } from './bridge-options.ts'
import { ClientLimits } from './client-limits.ts'
import { KeyStreams } from './key-streams.ts'
import { methods } from './methods.ts'
import { metricsRoute } from './metrics-route.ts'
import { pollTimeMs } from './poll-time.ts'
import { ProblemError, problem } from './problem.ts'
import { ReleaseWatch } from './release-watch.ts'
import { keysOf, waitOf } from './wait-query.ts'
import { answerWait } from './wait-route.ts'

/** The longest path and query, in bytes: what proxies let pass. */
const longestUrl = 4_096

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
  const { signal, metrics, origins, onEvent } = options
  const { needsRedis = () => () => undefined, guardsReadiness = false } = host
  const watch = new ReleaseWatch(options)
  const streams = new KeyStreams(options, watch)
  const waits = { open: 0 }
  const limits = new ClientLimits(options.limits, options.clock)
  const admit = access(options.auth, options.clock)
  const clientOf = (c: Context): Promise<Client> => admit(c.req.header('authorization'))
  signal.addEventListener('abort', () => watch.close(), { once: true })

  const app = new Hono()
  app.onError((error, c) => {
    if (error instanceof ProblemError) {
      return problem(c, error.status, error.message, error.members, error.retryAfter)
    }
    onEvent({ type: 'failed', error })
    return problem(c, 500, 'The bridge failed')
  })
  app.notFound((c) => problem(c, 404, 'The paths are /v1/wait and /v1/events'))
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store')
    await next()
    // A client that has left was not refused.
    if (c.res.status >= 400 && !c.req.raw.signal.aborted) onEvent({ type: 'refused', status: c.res.status })
  })
  for (const path of ['/healthz', '/readyz', ...(metrics ? ['/metrics'] : [])]) app.use(path, methods('GET', 'HEAD'))
  app.get('/healthz', (c) => c.text('ok'))
  app.get('/readyz', async (c) => {
    if (guardsReadiness) await clientOf(c)
    if (signal.aborted) return problem(c, 503, 'The bridge is stopping')
    const done = needsRedis()
    const why = await watch.whyNotReady(c.req.raw.signal).finally(done)
    return why === undefined ? c.text('ok') : problem(c, 503, why)
  })
  if (metrics) app.get('/metrics', metricsRoute(metrics.page, metrics.token, options.clock))

  if (origins.length > 0) app.use('/v1/*', crossOrigin(origins))
  app.use('/v1/*', (c, next) => {
    c.header('leasehold-prefix', encodeURIComponent(options.prefix))
    return next()
  })
  for (const path of ['/v1/wait', '/v1/events']) {
    // HEAD would be routed like GET, and the stream that it opens have no reader.
    app.use(path, methods('GET', ...(origins.length > 0 ? ['OPTIONS'] : [])))
  }
  app.use('/v1/*', (c, next) => {
    demandSmall(c)
    return next()
  })
  /** Takes places for the client, who needs Redis from now on; answers what gives them back. @throws ProblemError */
  const enter = (client: Client, keys: readonly string[]): (() => void) => {
    const leave = limits.take(client.subject, keys)
    const done = needsRedis()
    return () => {
      leave()
      done()
    }
  }
  app.get('/v1/wait', async (c) => {
    const client = await clientOf(c)
    const query = waitOf(new URL(c.req.url).searchParams)
    demandCovered(client, [query.key])
    const timeoutMs = Math.min(pollTimeMs(query.timeoutMs), client.expiresInMs ?? query.timeoutMs)
    const leave = enter(client, [query.key])
    try {
      return await answerWait(c, { ...query, timeoutMs }, { watch, waits, onEvent })
    } finally {
      leave()
    }
  })
  app.get('/v1/events', async (c) => {
    const client = await clientOf(c)
    const keys = keysOf(new URL(c.req.url).searchParams)
    demandCovered(client, keys)
    const leave = enter(client, keys)
    return streams.answer(c, { keys, expiresInMs: client.expiresInMs, onEnd: leave })
  })
  return app
}

/** @throws ProblemError, which says of which of the given keys, so that a client can go on with the others. */
function demandCovered(client: Client, keys: readonly string[]): void {
  const forbidden = keys.filter((key) => !client.covers(key))
  if (forbidden.length > 0) throw new ProblemError(403, 'The ticket is not for all of these keys', { keys: forbidden })
}

/** @throws ProblemError */
function demandSmall({ req }: Context): void {
  if (req.url.length - new URL(req.url).origin.length > longestUrl) {
    throw new ProblemError(
      414,
      `The path and query may have ${longestUrl} bytes; open another stream for the other keys`,
    )
  }
  if (Number(req.header('content-length') ?? 0) > 0 || req.header('transfer-encoding') !== undefined) {
    throw new ProblemError(413, 'A request has no body')
  }
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
