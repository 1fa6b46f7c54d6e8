import { type RedisServer, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import { type Address, type Connection, clients, sentinelClients, type TopologyClient } from './clients.ts'

/** Several servers that a client sees as one. */
export interface Topology extends AsyncDisposable {
  /** All servers that hold data, replicas among them. */
  readonly servers: readonly RedisServer[]
  /** The server that has a key now. */
  primaryOf(key: string): Promise<RedisServer>
  connect(client: TopologyClient, prefix?: string): Connection
}

interface Kind {
  readonly name: string
  readonly clients: readonly TopologyClient[]
  start(args?: readonly string[]): Promise<Topology>
  /** A client that is told of these servers alone, in place of the cluster's nodes or the Sentinels. */
  connectAt(client: TopologyClient, addresses: readonly Address[]): Connection
}

const toSentinel = (client: TopologyClient) => client.toSentinel as NonNullable<TopologyClient['toSentinel']>

/** The cases of this folder hold on each of these. */
export const topologies: readonly Kind[] = [
  {
    name: 'a cluster',
    clients,
    async start(args = []) {
      const cluster = await startRedisCluster({ replicas: 1, args })
      return {
        servers: [...cluster.nodes, ...cluster.replicas],
        primaryOf: (key) => cluster.nodeOf(key),
        connect: (client, prefix) => client.toCluster(cluster.nodes, { prefix }),
        [Symbol.asyncDispose]: () => cluster.stop(),
      }
    },
    connectAt: (client, addresses) => client.toCluster(addresses),
  },
  {
    name: 'Sentinels',
    clients: sentinelClients,
    async start(args = []) {
      const redis = await startRedisSentinel({ args })
      return {
        servers: redis.nodes,
        primaryOf: () => redis.primary(),
        connect: (client, prefix) => toSentinel(client)(redis.sentinels, redis.name, { prefix }),
        [Symbol.asyncDispose]: () => redis.stop(),
      }
    },
    connectAt: (client, addresses) => toSentinel(client)(addresses, 'leasehold'),
  },
]
