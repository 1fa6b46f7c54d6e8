import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis, type RedisConfigNodejs } from '@upstash/redis'
import { listen } from '../src/bin/http-server.ts'
import { type IoredisGateway, ioredisGateway } from '../src/bin/ioredis-gateway.ts'
import { unreadableAddress } from '../src/gateway/answers.ts'
import { createGateway, type GatewayOptions } from '../src/gateway/index.ts'

export const token = 'test-token-4f1d-0123456789abcdef-0123456789abcdef'

export interface TestGateway extends AsyncDisposable {
  readonly server: RedisServer
  /** The proxy between the gateway and Redis. */
  readonly network: TcpProxy
  readonly url: string
  readonly redis: IoredisGateway
  /** The unmodified client, set to send each request once and report the outcome. */
  client(config?: Partial<RedisConfigNodejs>): Redis
  /** Sends a request with the token, bypassing the client. */
  request(path: string, init?: RequestInit): Promise<Response>
}

/** A gateway on a real Redis, over a real HTTP server, in this process. */
export async function startTestGateway(options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const server = await startRedis()
  const network = await startTcpProxy({ port: server.port })
  const redis = ioredisGateway(`redis://127.0.0.1:${network.port}`, { unansweredMs: options.deadlineMs ?? 5_000 })
  const http = await listen(
    createGateway({ redis, tokens: [token], ...options }),
    { host: '127.0.0.1', port: 0 },
    unreadableAddress,
  )
  return {
    server,
    network,
    url: http.url,
    redis,
    client: (config) =>
      new Redis({ url: http.url, token, retry: { retries: 0 }, enableAutoPipelining: false, ...config }),
    request: (path, init) =>
      fetch(http.url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init?.headers } }),
    async [Symbol.asyncDispose]() {
      await http.close(0)
      redis.close()
      await network.stop()
      await server.stop()
    },
  }
}
