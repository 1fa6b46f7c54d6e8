import { startTcpProxy } from '@leasehold/testkit'
import type { UnconnectedTransport } from '@leasehold/testkit/conformance'
import { type IoredisClient, ioredisTransport } from '../src/index.ts'

type Client = IoredisClient & {
  on(event: 'error', listener: () => void): unknown
  listenerCount(event: string): number
  disconnect(): void
}

/** A transport over a client that cannot reach its server until `connect`. */
export async function unconnected(
  server: { readonly port: number },
  create: (way: { readonly host: string; readonly port: number }) => Client,
): Promise<UnconnectedTransport> {
  const proxy = await startTcpProxy(server)
  proxy.refuse()
  const client = create({ host: proxy.host, port: proxy.port })
  client.on('error', () => undefined)
  return {
    transport: ioredisTransport(client),
    connect: () => proxy.accept(),
    // A store listens to `ready` as well, but so does the client itself.
    listeners: () => ['end', 'error'].reduce((sum, event) => sum + client.listenerCount(event), 0),
    async [Symbol.asyncDispose]() {
      client.disconnect()
      await proxy.stop()
    },
  }
}
