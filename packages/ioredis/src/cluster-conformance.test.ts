import { recordConformance, storeConformance, transportConformance } from '@leasehold/testkit/conformance'
import { type RedisServer, redisStoreAccess, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll } from 'vitest'
import { soak } from '../../../test/support/scale.ts'
import { unconnected } from '../test/unconnected.ts'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisTransport } from './ioredis-transport.ts'

const cluster = await startRedisCluster()
const nodes = [...cluster.nodes]
const prefix = 'conformance:'
afterAll(() => cluster.stop())

transportConformance('ioredis 6, cluster', async () => over((nodes) => new ioredis6.Cluster([...nodes])))
transportConformance('ioredis 5, cluster', async () => over((nodes) => new ioredis5.Cluster([...nodes])))
transportConformance('iovalkey, cluster', async () => over((nodes) => new iovalkey.Cluster([...nodes])))

const sideBySide = { concurrent: true }
// The soak runs the whole suite of a store on each.
const inOthers = soak ? storeConformance : recordConformance
storeConformance('ioredis 6, cluster', async () => storeOver(new ioredis6.Cluster(nodes)), sideBySide)
inOthers('ioredis 5, cluster', async () => storeOver(new ioredis5.Cluster(nodes)), sideBySide)
inOthers('iovalkey, cluster', async () => storeOver(new iovalkey.Cluster(nodes)), sideBySide)

function storeOver(client: Client) {
  const store = ioredisStore(client, { prefix, fenceMemory: '3s' })
  return { ...redisStoreAccess(nodes, prefix), store, fenceMemoryMs: 3_000, close: () => quit(client) }
}

type Client = ReturnType<Parameters<typeof unconnected>[1]> & { quit(): Promise<unknown> }
function over(create: (nodes: readonly { readonly host: string; readonly port: number }[]) => Client) {
  const client = create(nodes.map(({ host, port }) => ({ host, port })))
  return {
    transport: ioredisTransport(client),
    // The client learns of the other nodes from the one it is given.
    openUnconnected: () => unconnected(nodes[0] as RedisServer, (way) => create([way])),
    close: () => quit(client),
  }
}
const quit = async (client: Client): Promise<void> => void (await client.quit())
