import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { checkTokens } from '../http/secrets.ts'
import { redisSettings } from '../ioredis/redis-settings.ts'
import { createBridge } from '../server/index.ts'
import { bareProblem, ProblemError } from '../server/problem.ts'
import { bridgeLog } from './bridge-log.ts'
import { bridgeMetrics } from './bridge-metrics.ts'
import type { BridgeSettings } from './bridge-settings.ts'
import { firstConnect } from './first-connect.ts'
import { type HttpServer, listen } from './http-server.ts'
import type { JoinedLog } from './joined-log.ts'
import { metricsApp } from './metrics-app.ts'

export interface RunningBridge {
  readonly address: {
    readonly url: string
    /** Where the metrics are, if they have an address of their own. */
    readonly metricsUrl?: string
    readonly prefix: string
  }
  /** Tells waiters to come back, ends the streams, and closes the connections to Redis. */
  stop(): Promise<void>
}

/** How long a shutdown waits for clients to read their answers, in milliseconds. */
const graceMs = 5_000

/**
 * Starts everything: Redis through ioredis, HTTP through Node.
 *
 * @throws Error that says what is wrong: Redis, the address, or an option.
 */
export async function startBridge(settings: BridgeSettings, log: Logger, joined: JoinedLog): Promise<RunningBridge> {
  const { prefix, tokens, ticketSecrets, longestTicket, metricsToken, metricsAddress, origins } = settings
  const { perClient, total, perKey, keysPerSecond } = settings
  const stopping = new AbortController()
  const metrics = bridgeMetrics()
  const tell = bridgeLog(log, joined)
  const redis = new Redis(settings.redisUrl, redisSettings)
  // Without a listener, ioredis writes to the console. The bridge reports a lost connection through its events.
  redis.on('error', () => undefined)
  const servers: HttpServer[] = []
  async function stop(withinMs: number): Promise<void> {
    stopping.abort()
    await Promise.all(servers.map((server) => server.close(withinMs)))
    redis.disconnect()
  }
  try {
    const app = createBridge({
      store: ioredisStore(redis, { prefix }),
      subscriber: ioredisSubscriber(redis),
      prefix,
      auth: { tokens, ticketSecrets, longestTicket },
      limits: { perClient, total, perKey, keysPerSecond },
      cors: { origins },
      ...(metricsToken !== undefined && !metricsAddress && { metrics: { page: metrics.page, token: metricsToken } }),
      signal: stopping.signal,
      onEvent: (event) => {
        metrics.count(event)
        tell(event)
      },
    })
    if (metricsToken !== undefined) checkTokens('metrics.token', [metricsToken])
    await firstConnect(redis)
    const ready = await app.request('/readyz')
    if (!ready.ok) {
      const { detail } = (await ready.json()) as { detail: string }
      throw new Error(`cannot listen for releases under "${prefix}", or read locks: ${detail}`)
    }
    servers.push(await listen(app, settings, unreadable))
    if (metricsAddress) servers.push(await listen(metricsApp(metrics.page, metricsToken), metricsAddress, unreadable))
  } catch (error) {
    await stop(0)
    throw error
  }
  const [main, beside] = servers as [HttpServer, HttpServer?]
  const address = { url: main.url, ...(beside && { metricsUrl: beside.url }), prefix }
  return { address, stop: () => stop(graceMs) }
}

/** The answer to a request whose URL cannot be parsed. The app has not seen the request. */
const unreadable = (): Response => bareProblem(new ProblemError(400, 'The address cannot be read'))
