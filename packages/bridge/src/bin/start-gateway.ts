import type { Logger } from 'pino'
import { unreadableAddress } from '../gateway/answers.ts'
import { createGateway, type GatewayRedis } from '../gateway/index.ts'
import { isError } from '../gateway/reply-shape.ts'
import { checkAllowed } from './allowed-commands.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { type HttpServer, listen } from './http-server.ts'
import type { ConnectionChange } from './ioredis-connection.ts'
import { ioredisGateway } from './ioredis-gateway.ts'
import type { JoinedLog } from './joined-log.ts'
import { more, plain } from './program-log.ts'

export interface RunningGateway {
  readonly address: { readonly url: string }
  /** Ends the event streams, lets requests finish, and closes the connections to Redis. */
  stop(): Promise<void>
}

/** How much longer than its deadline a request may take, in milliseconds. */
const afterDeadlineMs = 1_000

/**
 * Starts everything: Redis through ioredis, HTTP through Node.
 *
 * @throws SettingsError for a command that cannot be allowed, and another Error that says what cannot be used: Redis, the
 * address, an option.
 */
export async function startGateway(settings: GatewaySettings, log: Logger, joined: JoinedLog): Promise<RunningGateway> {
  const { redisUrl, deadlineMs, allowed } = settings
  const stopping = new AbortController()
  const redis = ioredisGateway(redisUrl, {
    unansweredMs: deadlineMs,
    onChange: (change) => tellChange(log, joined, change),
  })
  let server: HttpServer
  try {
    const app = createGateway({
      ...settings,
      redis,
      signal: stopping.signal,
      onError: (err) =>
        joined.write(`failed ${plain(err).message}`, (times) => log.error({ err, ...more(times) }, 'a request failed')),
    })
    await redis.open()
    await demandAnswer(redis, deadlineMs)
    const unasked = await checkAllowed(allowed, redis, AbortSignal.timeout(deadlineMs))
    if (unasked) log.warn({ reason: unasked }, 'what --allow names could not be checked')
    server = await listen(app, settings, unreadableAddress)
  } catch (error) {
    redis.close()
    throw error
  }
  return {
    address: { url: server.url },
    async stop() {
      stopping.abort()
      await server.close(deadlineMs + afterDeadlineMs)
      redis.close()
    },
  }
}

/** Sends the same command as `/readyz`. @throws Error that says why Redis does not answer it */
async function demandAnswer({ pipeline }: GatewayRedis, deadlineMs: number): Promise<void> {
  const [pong = null] = await pipeline([['PING']], AbortSignal.timeout(deadlineMs))
  if (isError(pong)) throw new Error(`cannot use Redis: ${pong.error}`)
}

/** Logs a change. When the connection is back, first logs how often it was lost. */
function tellChange(log: Logger, joined: JoinedLog, change: ConnectionChange): void {
  if (change.connected) {
    joined.flush('lost')
    log.info('connected to Redis')
    return
  }
  const { reason } = change
  joined.write(`lost ${reason}`, (times) => {
    log.warn({ reason, ...more(times) }, 'lost the connection to Redis; connecting again')
  })
}
