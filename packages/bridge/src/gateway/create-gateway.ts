import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bearerCheck, bearerOf } from '../http/bearer-tokens.ts'
import { UnreadTotal } from '../http/unread-total.ts'
import { answerError, answerFailure, answerJson } from './answers.ts'
import { type CommandList, commandList } from './command-list.ts'
import { commandRoutes } from './command-routes.ts'
import { withinDeadline } from './deadline.ts'
import { type CheckedOptions, checkOptions, type GatewayOptions } from './gateway-options.ts'
import { isError } from './reply-shape.ts'
import { sharedSubscriptions } from './shared-subscriptions.ts'
import { StreamPlaces } from './stream-places.ts'
import { type Streaming, subscribeRoute, type TokenContext } from './subscribe-route.ts'
import { syncTokens } from './sync-token.ts'
import type { TopicStream } from './topic-stream.ts'

/** How long `/readyz` waits for Redis, in milliseconds: its callers do not wait long themselves. */
const readyDeadlineMs = 1_000

/**
 * The REST protocol that `@upstash/redis` speaks, over a Redis of your own, as a Hono app: run it on its own, or mount
 * it in another app with `route`.
 *
 * | | |
 * |---|---|
 * | `POST /` | one command: `["GET", "key"]` |
 * | `GET`, `POST /get/key` | one command as a path |
 * | `POST /pipeline`, `POST /multi-exec` | several: `[["GET", "a"], ["INCR", "b"]]` |
 * | `GET`, `POST /subscribe/<channel>`, `/psubscribe/<pattern>` | messages, as an event stream |
 * | `GET /healthz`, `GET /readyz` | whether it runs · whether Redis answers; no token needed |
 *
 * Answers are `{"result":…}` or `{"error":…}`. 400: refused, by Redis or by the gateway · 401: no valid token · 413: too
 * large · 429 `TOOMANY`: the token has too many streams · 503 `UNAVAILABLE`: certainly not carried out · 504 `UNANSWERED`:
 * it may have been carried out. 429 and 503 have `Retry-After`.
 *
 * Creating a gateway does no I/O and sets no timer.
 *
 * @throws InvalidOptionError naming the option.
 */
export function createGateway(given: GatewayOptions): Hono {
  const options = checkOptions(given)
  const list = commandList(options.commands)
  const sync = syncTokens()
  const commands = commandRoutes(options, list, sync)
  const streaming = streamingOf(options, list)

  const app = new Hono<TokenContext>()
  app.onError((error, c) => answerCaught(c, error, options))
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store')
    c.header('upstash-sync-token', sync.current())
    await next()
  })
  app.get('/healthz', (c) => answerJson(c, '{"result":"OK"}'))
  app.get('/readyz', (c) => answerReadiness(c, options))
  app.use(admission(options))
  app.post('/', commands.single)
  app.post('/pipeline', commands.pipeline)
  app.post('/multi-exec', commands.multiExec)
  app.on(['GET', 'POST'], '/subscribe/*', subscribeRoute(streaming, false))
  app.on(['GET', 'POST'], '/psubscribe/*', subscribeRoute(streaming, true))
  app.on(['GET', 'POST'], '/*', commands.path)
  return app as unknown as Hono
}

/** Makes what the event streams share. The streams end when the gateway is told to stop. */
function streamingOf(options: CheckedOptions, list: CommandList): Streaming {
  const streams = new Set<TopicStream>()
  options.signal?.addEventListener('abort', () => {
    for (const stream of [...streams]) stream.end()
  })
  return {
    options,
    subscribe: sharedSubscriptions(options.redis),
    streams,
    places: new StreamPlaces(options),
    list,
    unreadTotal: new UnreadTotal(),
  }
}

function answerCaught(c: Context, error: Error, { onError }: CheckedOptions): Response {
  const answer = answerFailure(c, error)
  if (answer) return answer
  // If the client left in the middle of its request, nobody reads the answer and nothing has failed.
  if (!c.req.raw.signal.aborted) onError?.(error)
  return answerError(c, 500, 'ERR the gateway failed')
}

async function answerReadiness(c: Context, { redis, deadlineMs, signal }: CheckedOptions): Promise<Response> {
  const limitMs = Math.min(readyDeadlineMs, deadlineMs)
  const [pong = null] = await withinDeadline(limitMs, c.req.raw.signal, (stop) => redis.pipeline([['PING']], stop))
  if (isError(pong) || signal?.aborted) {
    return answerError(c, 503, 'UNAVAILABLE the gateway or its Redis is not ready')
  }
  return answerJson(c, '{"result":"OK"}')
}

/** Lets requests with a token and a method of the protocol pass, until the gateway is told to stop. */
function admission({ tokens, signal }: CheckedOptions): MiddlewareHandler<TokenContext> {
  const tokenOf = bearerCheck(tokens)
  return async (c, next) => {
    // Hono routes HEAD like GET, and nobody would read the stream that it would open.
    if (c.req.method !== 'GET' && c.req.method !== 'POST') {
      c.header('allow', 'GET, POST')
      return answerError(c, 405, 'ERR the methods are GET and POST')
    }
    const token = await tokenOf(bearerOf(c.req.header('authorization')))
    if (token === undefined) {
      c.header('www-authenticate', 'Bearer')
      return answerError(c, 401, 'Unauthorized: send a token of this gateway in the Authorization header, as Bearer')
    }
    if (signal?.aborted) return answerError(c, 503, 'UNAVAILABLE the gateway is stopping')
    c.set('gatewayToken', token)
    return next()
  }
}
