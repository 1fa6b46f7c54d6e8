import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { access, type Client } from './access.ts'
import { type BridgeOptions, type CheckedOptions, checkOptions } from './bridge-options.ts'
import { ClientLimits } from './client-limits.ts'
import { KeyStreams } from './key-streams.ts'
import { pollTimeMs } from './poll-time.ts'
import { ProblemError, problem } from './problem.ts'
import { ReleaseWatch } from './release-watch.ts'
import { keysOf, waitOf } from './wait-query.ts'
import { answerWait } from './wait-route.ts'

/** The longest path and query, in bytes: what proxies let pass. */
const longestUrl = 4_096

/**
 * Release notifications over HTTP, as a Hono app: run it by itself, or mount it in another app with `route`.
 *
 * | | |
 * |---|---|
 * | `GET /v1/wait?key=K&since=C&timeout=25s` | a long poll: answers when K is free, or is released; 204 when time is up |
 * | `GET /v1/events?key=A&key=B` | an event stream: the state of each key, then every release |
 * | `GET /healthz`, `/readyz`, `/metrics` | whether it runs · whether Redis is reachable and listened to · numbers; without a token |
 *
 * A notification is a hint and never a grant, and may be lost; every waiter has a timer of its own beside it. Errors are
 * `application/problem+json`. Nothing is kept: a bridge that is started anew knows as much as one that ran all along.
 *
 * Making one does no I/O and sets no timer; it connects with the first request.
 *
 * @throws InvalidOptionError naming the option.
 */
export function createBridge(given: BridgeOptions): Hono {
  const options = quiet(checkOptions(given))
  const { signal, metrics, origins, onEvent } = options
  const watch = new ReleaseWatch(options)
  const streams = new KeyStreams(options, watch)
  const waits = { open: 0 }
  const limits = new ClientLimits(options.limits, options.clock)
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
  app.get('/healthz', (c) => c.text('ok'))
  app.get('/readyz', async (c) => {
    const why = signal.aborted ? 'The bridge is stopping' : await watch.whyNotReady(c.req.raw.signal)
    return why === undefined ? c.text('ok') : problem(c, 503, why)
  })
  if (metrics) {
    app.get('/metrics', async (c) => {
      const { contentType, text } = await metrics()
      return c.body(text, 200, { 'content-type': contentType })
    })
  }

  if (origins.length > 0) app.use('/v1/*', crossOrigin(origins))
  app.use('/v1/*', (c, next) => {
    c.header('leasehold-prefix', encodeURIComponent(options.prefix))
    demandSmallGet(c)
    return next()
  })
  const clientOf = clientCheck(options)
  app.get('/v1/wait', async (c) => {
    const client = await clientOf(c)
    const query = waitOf(new URL(c.req.url).searchParams)
    demandCovered(client, [query.key])
    const timeoutMs = Math.min(pollTimeMs(query.timeoutMs), client.expiresInMs ?? query.timeoutMs)
    const leave = limits.take(client.subject, [query.key])
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
    const leave = limits.take(client.subject, keys)
    return streams.answer(c, { keys, expiresInMs: client.expiresInMs, onEnd: leave })
  })
  return app
}

/** Answers who asks. @throws ProblemError */
function clientCheck({ auth, clock }: CheckedOptions): (c: Context) => Promise<Client> {
  const clientOf = access(auth.tokens, auth.ticketSecrets, clock)
  return async (c) => {
    const client = await clientOf(c.req.header('authorization'))
    if (client) return client
    c.header('www-authenticate', 'Bearer')
    throw new ProblemError(
      401,
      'Send a token of this bridge, or a valid ticket, in the Authorization header, as Bearer',
    )
  }
}

/** @throws ProblemError, which says of which of the given keys, so that a client can go on with the others. */
function demandCovered(client: Client, keys: readonly string[]): void {
  const forbidden = keys.filter((key) => !client.covers(key))
  if (forbidden.length > 0) throw new ProblemError(403, 'The ticket is not for all of these keys', { keys: forbidden })
}

/** @throws ProblemError */
function demandSmallGet({ req }: Context): void {
  // HEAD would be routed like GET, and the stream that it opens have no reader.
  if (req.method !== 'GET') throw new ProblemError(405, 'The method is GET')
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
    allowHeaders: ['authorization'],
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
