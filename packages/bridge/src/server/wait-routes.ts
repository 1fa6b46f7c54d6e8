import type { Context, Hono } from 'hono'
import type { Client } from './access.ts'
import type { BridgeParts } from './bridge-parts.ts'
import { ClientLimits } from './client-limits.ts'
import { KeyStreams } from './key-streams.ts'
import { LongPolls } from './long-polls.ts'
import { pollTimeMs } from './poll-time.ts'
import { ProblemError } from './problem.ts'
import { inboxesOf, keysOf, waitOf } from './wait-query.ts'

/** The longest path and query, in bytes: what proxies accept. */
const longestUrl = 4_096

/**
 * The routes for waiters. They use no middleware: it would keep a frame and its closures for as long as somebody waits.
 */
export function addWaitRoutes(app: Hono, { options, watch, prefix, clientOf, needsRedis }: BridgeParts): void {
  const polls = new LongPolls(options, watch)
  const streams = new KeyStreams(options, watch)
  const limits = new ClientLimits(options.limits, options.clock)
  const allowed = options.origins.length > 0 ? 'GET, OPTIONS' : 'GET'

  /** The query of the request. @throws ProblemError */
  function queryOf(c: Context): URLSearchParams {
    c.header('leasehold-prefix', prefix)
    // Hono routes HEAD like GET, and nobody would read the stream that it would open.
    if (c.req.method !== 'GET') {
      c.header('allow', allowed)
      throw new ProblemError(405, 'The method is GET')
    }
    return smallQueryOf(c)
  }
  /**
   * Takes places for the client, which needs Redis from now on. Returns a function that gives them back.
   *
   * @throws ProblemError
   */
  function enter(client: Client, keys: readonly string[]): () => void {
    const leave = limits.take(client.subject, keys)
    const done = needsRedis()
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      leave()
      done()
    }
  }

  app.all('/v1/wait', async (c) => {
    const asked = queryOf(c)
    const client = await clientOf(c)
    const query = waitOf(asked)
    demandCovered(client, [query.key])
    const timeoutMs = Math.min(pollTimeMs(query.timeoutMs), client.expiresInMs ?? query.timeoutMs)
    const leave = enter(client, [query.key])
    try {
      return await polls.answer(c, { ...query, timeoutMs })
    } finally {
      leave()
    }
  })
  app.all('/v1/events', async (c) => {
    const asked = queryOf(c)
    const client = await clientOf(c)
    const keys = keysOf(asked)
    const inboxes = inboxesOf(asked)
    demandCovered(client, keys)
    const leave = enter(client, keys)
    try {
      return await streams.answer(c, { keys, inboxes, expiresInMs: client.expiresInMs, onEnd: leave })
    } catch (error) {
      leave()
      throw error
    }
  })
}

/** @throws ProblemError that names the forbidden keys, so that the client can go on with the others. */
function demandCovered(client: Client, keys: readonly string[]): void {
  const forbidden = keys.filter((key) => !client.covers(key))
  if (forbidden.length > 0) throw new ProblemError(403, 'The ticket is not for all of these keys', { keys: forbidden })
}

/** @throws ProblemError */
function smallQueryOf({ req }: Context): URLSearchParams {
  const target = req.url.slice(req.url.indexOf('/', req.url.indexOf('://') + 3))
  if (target.length > longestUrl) {
    throw new ProblemError(
      414,
      `The path and query may have ${longestUrl} bytes; open another stream for the other keys`,
    )
  }
  if (Number(req.header('content-length') ?? 0) > 0 || req.header('transfer-encoding') !== undefined) {
    throw new ProblemError(413, 'A request has no body')
  }
  const at = target.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : target.slice(at + 1))
}
