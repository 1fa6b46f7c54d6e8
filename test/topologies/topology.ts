import { waitForReplicas } from '@leasehold/core/redis'
import { type RedisServer, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import { soak } from '../support/scale.ts'
import {
  type Address,
  type Connection,
  clients,
  type Options,
  sentinelClients,
  type TopologyClient,
} from './clients.ts'

/** Several servers that a client sees as one. */
export interface Topology {
  /** All servers that hold data, including replicas. */
  readonly servers: readonly RedisServer[]
  /** The servers that a client is given: the cluster's nodes, or the Sentinels. */
  readonly given: readonly Address[]
  /** The server that has a key now. */
  primaryOf(key: string): Promise<RedisServer>
  stop(): Promise<void>
}

export interface Kind {
  readonly name: string
  readonly clients: readonly TopologyClient[]
  /** How many replicas each primary has. */
  readonly replicas: number
  /** Starts a topology in which no server is replaced, however long it is busy. */
  start(): Promise<Topology>
  /** Connects a client that is given these servers as the cluster's nodes or the Sentinels. */
  connect(client: TopologyClient, given: readonly Address[], options?: Options): Connection
}

const toSentinel = (client: TopologyClient) => client.toSentinel as NonNullable<TopologyClient['toSentinel']>

/** The cases of this folder hold on each of these. */
export const kinds: readonly Kind[] = [
  {
    name: 'a cluster',
    clients,
    replicas: 1,
    async start() {
      const cluster = await startRedisCluster({ replicas: 1, args: ['--cluster-node-timeout', '60000'] })
      return {
        servers: [...cluster.nodes, ...cluster.replicas],
        given: cluster.nodes,
        primaryOf: (key) => cluster.nodeOf(key),
        stop: () => cluster.stop(),
      }
    },
    connect: (client, given, options) => client.toCluster(given, options),
  },
  {
    name: 'Sentinels',
    clients: sentinelClients,
    replicas: 2,
    async start() {
      const redis = await startRedisSentinel({ downAfterMs: 60_000 })
      return {
        servers: redis.nodes,
        given: redis.sentinels,
        primaryOf: () => redis.primary(),
        stop: () => redis.stop(),
      }
    },
    connect: (client, given, options) => toSentinel(client)(given, 'leasehold', options),
  },
]

/** The same servers, to clients that have all replicas confirm. */
const withWait = (kind: Kind): Kind => ({
  ...kind,
  name: `${kind.name} with WAIT`,
  connect: (...to) => waitForReplicas(kind.connect(...to), { replicas: kind.replicas, timeout: '500ms' }),
})

/** In the soak, also what holds with WAIT. */
export const topologies: readonly Kind[] = [...kinds, ...(soak ? kinds.map(withWait) : [])]

/** Some of them with each of their clients. */
export const withClients = (some: readonly Kind[]) =>
  some.flatMap((kind) => kind.clients.map((client) => ({ on: kind.name, over: client.name, kind, client })))
