import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startTcpProxy } from '@leasehold/testkit'
import { startTestGateway, token } from '../../../packages/bridge/test/gateway.ts'
import type { Servers } from './declare.ts'

/** Starts what one client is let at, all of it for this client alone: the claims ask for a quiet server. */
export async function startServers(): Promise<Servers & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const gateway = stack.use(await startTestGateway())
  const { host, port } = gateway.server
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
