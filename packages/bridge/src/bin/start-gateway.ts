import { createGateway } from '../gateway/index.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { type HttpServer, listen } from './http-server.ts'
import { ioredisGateway } from './ioredis-gateway.ts'

export interface RunningGateway {
  readonly url: string
  /** Ends the event streams, lets requests finish, and closes the connections to Redis. */
  stop(): Promise<void>
}

/** What a request may take beyond its deadline, in milliseconds. */
const afterDeadlineMs = 1_000

/**
 * Starts the whole: Redis by ioredis, HTTP by Node.
 *
 * @param log told, in a line each, of what an operator should know
 * @throws Error that says what cannot be used: Redis, the address, an option.
 */
export async function startGateway(settings: GatewaySettings, log: (line: string) => void): Promise<RunningGateway> {
  const { redisUrl, deadlineMs } = settings
  const stopping = new AbortController()
  const redis = ioredisGateway(redisUrl, { unansweredMs: deadlineMs, onChange: log })
  let server: HttpServer
  try {
    const app = createGateway({
      ...settings,
      redis,
      signal: stopping.signal,
      onError: (error) => log(`a request failed: ${error instanceof Error ? error.stack : String(error)}`),
    })
    await redis.open()
    server = await listen(app, settings)
  } catch (error) {
    redis.close()
    throw error
  }
  return {
    url: server.url,
    async stop() {
      stopping.abort()
      await server.close(deadlineMs + afterDeadlineMs)
      redis.close()
    },
  }
}
