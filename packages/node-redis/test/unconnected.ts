import { startTcpProxy } from '@leasehold/testkit'
import type { UnconnectedTransport } from '@leasehold/testkit/conformance'
import { type NodeRedisClient, nodeRedisTransport } from '../src/index.ts'
import { close } from './clients.ts'

type Client = NodeRedisClient & { connect(): Promise<unknown>; listenerCount(event: string): number }

/** A transport over a client that cannot reach its server until `connect`. */
export async function unconnected(
  server: { readonly port: number },
  create: (way: { readonly host: string; readonly port: number }) => Client,
): Promise<UnconnectedTransport> {
  const proxy = await startTcpProxy(server)
  proxy.refuse()
  const client = create({ host: proxy.host, port: proxy.port })
  client.on('error', () => undefined)
  let isOver = false
  // A cluster client gives up at once, so its user has to try again.
  const connecting = async (): Promise<void> => {
    while (!isOver && !client.isOpen) {
      await client.connect().catch(() => new Promise((resolve) => setTimeout(resolve, 20)))
    }
  }
  const connected = connecting()
  return {
    transport: nodeRedisTransport(client),
    connect: () => proxy.accept(),
    listeners: () => ['ready', 'end', 'error'].reduce((sum, event) => sum + client.listenerCount(event), 0),
    async [Symbol.asyncDispose]() {
      isOver = true
      await close(client)
      await connected.catch(() => undefined)
      await proxy.stop()
    },
  }
}
