import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createGateway, type GatewayRedis, type GatewayReply } from '@leasehold/bridge/gateway'
import {
  connectRedisAdmin,
  type RedisAdmin,
  type RedisReply,
  type RedisServer,
  startRedis,
} from '@leasehold/testkit/redis'

/** The gateway over a real Redis, both only for this package's tests. */
export interface TestGateway extends AsyncDisposable {
  readonly redis: RedisServer
  readonly url: string
  readonly token: string
}

export async function startTestGateway(): Promise<TestGateway> {
  const redis = await startRedis()
  const admin = await connectRedisAdmin({ port: redis.port })
  const token = 'gateway-token-0123456789abcdef-0123456789'
  const app = createGateway({ redis: over(admin), tokens: [token] })
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    redis,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await admin.close()
      await redis.stop()
    },
  }
}

/** The gateway's port over one plain connection, as far as scripts need it. */
const over = (admin: RedisAdmin): GatewayRedis => ({
  pipeline: (commands) =>
    Promise.all(
      commands.map((command) =>
        admin.command(...command.map((part) => Buffer.from(part).toString())).then(replyOf, replyOf),
      ),
    ),
  multiExec: () => Promise.reject(new Error('No test uses transactions')),
  subscribe: () => {
    throw new Error('No test subscribes')
  },
})

function replyOf(reply: RedisReply): GatewayReply {
  if (reply instanceof Error) return { error: reply.message }
  return typeof reply === 'object' && reply !== null ? reply.map(replyOf) : reply
}
