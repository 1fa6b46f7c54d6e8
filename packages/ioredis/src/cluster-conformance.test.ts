import { storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { redisStoreAccess, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll } from 'vitest'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisTransport } from './ioredis-transport.ts'

const cluster = await startRedisCluster()
const nodes = [...cluster.nodes]
const prefix = 'conformance:'
afterAll(() => cluster.stop())

transportConformance('ioredis 6, cluster', async () => over(new ioredis6.Cluster(nodes)))
transportConformance('ioredis 5, cluster', async () => over(new ioredis5.Cluster(nodes)))
transportConformance('iovalkey, cluster', async () => over(new iovalkey.Cluster(nodes)))

storeConformance('ioredis 6, cluster', async () => {
  const client = new ioredis6.Cluster(nodes)
  const store = ioredisStore(client, { prefix, fenceMemory: '2s' })
  return { ...redisStoreAccess(nodes, prefix), store, fenceMemoryMs: 2_000, close: () => quit(client) }
})

type Client = Parameters<typeof ioredisTransport>[0] & { quit(): Promise<unknown> }
const over = (client: Client) => ({ transport: ioredisTransport(client), close: () => quit(client) })
const quit = async (client: Client): Promise<void> => void (await client.quit())
