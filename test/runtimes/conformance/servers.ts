import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTcpProxy } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { listen } from '../../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../../packages/bridge/src/gateway/index.ts'
import type { Servers } from './declare.ts'

const token = 'claims-token-0123456789abcdef-0123456789abcdef'

/** Starts the servers for one client, for this client alone: the claims need a quiet server. */
export async function startServers(): Promise<Servers & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const redis = stack.adopt(await startRedis(), (each) => each.stop())
  const { host, port } = redis
  const commands = stack.adopt(ioredisGateway(redis.url, { unansweredMs: 5_000 }), (each) => each.close())
  const gateway = stack.adopt(
    await listen(createGateway({ redis: commands, tokens: [token] }), { host, port: 0 }),
    (each) => each.close(0),
  )
  const proxy = stack.adopt(await startTcpProxy({ port }), (each) => each.stop())
  const control = createServer(async (request, response) => {
    await (request.url === '/accept' ? proxy.accept() : proxy.refuse())
    response.end()
  })
  stack.defer(() => new Promise((resolve) => void control.close(() => resolve())))
  stack.defer(() => control.closeAllConnections())
  await new Promise<void>((resolve) => void control.listen(0, host, resolve))
  const { port: controlPort } = control.address() as AddressInfo
  const all = stack.move()
  return {
    redis: { host, port },
    gateway: { url: gateway.url, token },
    link: { host: proxy.host, port: proxy.port, url: `http://${host}:${controlPort}` },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
