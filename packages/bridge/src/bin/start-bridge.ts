import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { type BridgeEvent, createBridge } from '../server/index.ts'
import { redisSettings } from '../server/redis-settings.ts'
import { bridgeMetrics } from './bridge-metrics.ts'
import type { BridgeSettings } from './bridge-settings.ts'
import { type HttpServer, listen } from './http-server.ts'

export interface RunningBridge {
  readonly url: string
  /** Tells waiters to come back, ends the streams, and closes the connections to Redis. */
  stop(): Promise<void>
}

/** How long a stop waits for answers to be taken, in milliseconds. */
const graceMs = 5_000
/**
 * Starts the whole: Redis by ioredis, HTTP by Node.
 *
 * @throws Error that says what cannot be used: Redis, the address, an option.
 */
export async function startBridge(settings: BridgeSettings, log: Logger): Promise<RunningBridge> {
  const { prefix, tokens, ticketSecrets, perClient, total, perKey, keysPerSecond, origins } = settings
  const stopping = new AbortController()
  const metrics = bridgeMetrics()
  const redis = new Redis(settings.redisUrl, redisSettings)
  let server: HttpServer
  try {
    const app = createBridge({
      store: ioredisStore(redis, { prefix }),
      subscriber: ioredisSubscriber(redis),
      prefix,
      auth: { tokens, ticketSecrets },
      limits: { perClient, total, perKey, keysPerSecond },
      cors: { origins },
      metrics: metrics.page,
      signal: stopping.signal,
      onEvent: (event) => {
        metrics.count(event)
        tell(log, event)
      },
    })
    await connect(redis)
    const ready = await app.request('/readyz')
    if (!ready.ok) {
      const { detail } = (await ready.json()) as { detail: string }
      throw new Error(`cannot listen for releases under "${prefix}", or read locks: ${detail}`)
    }
    server = await listen(app, settings)
  } catch (error) {
    stopping.abort()
    redis.disconnect()
    throw error
  }
  return {
    url: server.url,
    async stop() {
      stopping.abort()
      await server.close(graceMs)
      redis.disconnect()
    },
  }
}

/** Connects for the first time. @throws Error that says why it cannot, without credentials. */
async function connect(redis: Redis): Promise<void> {
  const { host, port } = redis.options
  let reason = ''
  // It stays: afterwards it keeps the client from writing to the console. What is lost, the bridge tells.
  redis.on('error', ({ message }: Error) => {
    reason ||= message
  })
  try {
    await redis.connect()
    // It connects all the same where it may not have its database, and then finds every lock free, in another one.
    if (reason) throw new Error(reason)
  } catch (error) {
    throw new Error(`cannot use Redis at ${host}:${port}: ${reason || (error as Error).message}`)
  }
}

/** What an operator should know. What happens all the time is counted and not written down. */
function tell(log: Logger, event: BridgeEvent): void {
  if (event.type === 'listening') log.info('listening for releases')
  if (event.type === 'deaf') log.warn('lost the connection that listens for releases; connecting again')
  if (event.type === 'failed') log.error({ err: event.error }, 'a request failed')
  if (event.type === 'look' && event.outcome === 'unanswered')
    log.warn({ reason: event.reason }, 'Redis did not answer a look')
}
