import { type RedisServer, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import { type Address, type Connection, clients, sentinelClients, type TopologyClient } from './clients.ts'

/** Several servers that a client sees as one. */
export interface Topology {
  /** All servers that hold data, including replicas. */
  readonly servers: readonly RedisServer[]
  /** The server that has a key now. */
  primaryOf(key: string): Promise<RedisServer>
  connect(client: TopologyClient, prefix?: string): Connection
  stop(): Promise<void>
}

export interface Kind {
  readonly name: string
  readonly clients: readonly TopologyClient[]
  /** Starts a topology in which no server is replaced, however long it is busy. */
  start(): Promise<Topology>
  /** A client that is given only these servers as the cluster's nodes or the Sentinels. */
  connectAt(client: TopologyClient, addresses: readonly Address[]): Connection
}

const toSentinel = (client: TopologyClient) => client.toSentinel as NonNullable<TopologyClient['toSentinel']>

/** The cases of this folder hold on each of these. */
export const topologies: readonly Kind[] = [
  {
    name: 'a cluster',
    clients,
    async start() {
      const cluster = await startRedisCluster({ replicas: 1, args: ['--cluster-node-timeout', '60000'] })
      return {
        servers: [...cluster.nodes, ...cluster.replicas],
        primaryOf: (key) => cluster.nodeOf(key),
        connect: (client, prefix) => client.toCluster(cluster.nodes, { prefix }),
        stop: () => cluster.stop(),
      }
    },
    connectAt: (client, addresses) => client.toCluster(addresses),
  },
  {
    name: 'Sentinels',
    clients: sentinelClients,
    async start() {
      const redis = await startRedisSentinel({ downAfterMs: 60_000 })
      return {
        servers: redis.nodes,
        primaryOf: () => redis.primary(),
        connect: (client, prefix) => toSentinel(client)(redis.sentinels, redis.name, { prefix }),
        stop: () => redis.stop(),
      }
    },
    connectAt: (client, addresses) => toSentinel(client)(addresses, 'leasehold'),
  },
]
