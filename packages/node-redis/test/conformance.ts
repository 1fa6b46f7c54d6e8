import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { type RedisServer, redisStoreAccess } from '@leasehold/testkit/redis'
import { type NodeRedisClient, nodeRedisStore, nodeRedisTransport } from '../src/index.ts'
import { close } from './clients.ts'
import { unconnected } from './unconnected.ts'

interface Address {
  readonly host: string
  readonly port: number
}

const prefix = 'conformance:'

/** Runs the suites over a client that is given one server's address, or learns it from Sentinels (`told`). */
export function conformance(
  name: string,
  servers: readonly RedisServer[],
  create: (way: Address) => NodeRedisClient & { connect(): Promise<unknown>; listenerCount(event: string): number },
  told: 'directly' | 'by sentinels' = 'directly',
): void {
  const [server] = servers as readonly [RedisServer]
  const over = (way: Address): ReturnType<typeof create> => {
    const client = create(way)
    client.on('error', () => undefined)
    return client
  }
  const connected = async (): Promise<ReturnType<typeof create>> => {
    const client = over({ host: server.host, port: server.port })
    await client.connect()
    return client
  }
  transportConformance(name, async () => {
    const client = await connected()
    return {
      transport: nodeRedisTransport(client),
      ...(told === 'directly' && { openUnconnected: () => unconnected(server, over) }),
      close: () => close(client),
    }
  })
  const open = async () => {
    const client = await connected()
    const store = nodeRedisStore(client, { prefix, fenceMemory: '3s' })
    return { ...redisStoreAccess([...servers], prefix), store, fenceMemoryMs: 3_000, close: () => close(client) }
  }
  storeConformance(name, open, { concurrent: true })
}
