import type { GatewayRedis } from '../gateway/index.ts'
import { ioredisCommands } from './ioredis-commands.ts'
import { type ConnectionOptions, IoredisConnection } from './ioredis-connection.ts'
import { ioredisTopics } from './ioredis-topics.ts'

export interface IoredisGateway extends GatewayRedis {
  /** Connects now, rather than at the first command. @throws Error that says why it cannot. */
  open(): Promise<void>
  close(): void
}

/** The gateway's port over ioredis: two connections to one Redis, by `redis://` or `rediss://` URL. */
export function ioredisGateway(url: string, options: ConnectionOptions): IoredisGateway {
  const commands = new IoredisConnection(url, options)
  const subscriptions = new IoredisConnection(url, { unansweredMs: options.unansweredMs })
  return {
    ...ioredisCommands(commands),
    subscribe: ioredisTopics(subscriptions),
    open: () => commands.open(),
    close() {
      commands.close()
      subscriptions.close()
    },
  }
}
