import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisTransport } from '@leasehold/core/redis'
import { ioredisNotifier, ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { type NodeRedisClient, nodeRedisNotifier, nodeRedisStore, nodeRedisTransport } from '@leasehold/node-redis'
import { Cluster, Redis } from 'ioredis'
import * as redis6 from 'redis'
import * as redis4 from 'redis-4'
import * as redis5 from 'redis-5'
import { quiet } from '../support/quiet.ts'
import { soak } from '../support/scale.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** A connection of its own, as another process would have. */
export interface Connection {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier
  readonly transport: RedisTransport
  close(): void
}

/** How a connection listens. */
type Listening = Pick<PubsubNotifierOptions, 'mode'>

/** A client library, connected as its users connect it to either topology. */
export interface TopologyClient {
  readonly name: string
  toCluster(nodes: readonly Address[], options?: Listening): Connection
  /** @param primaryName the name that the Sentinels know the primary by */
  toSentinel?(sentinels: readonly Address[], primaryName: string): Connection
}

/** Only what a client needs to know: a server is more than its address. */
const addresses = (servers: readonly Address[]): Address[] => servers.map(({ host, port }) => ({ host, port }))

const overIoredis = (client: Redis | Cluster, options?: Listening): Connection => ({
  store: ioredisStore(client),
  notifier: ioredisNotifier(client, options),
  transport: ioredisTransport(client),
  close: () => client.disconnect(),
})

type NodeRedis = NodeRedisClient & { connect(): Promise<unknown>; on(event: 'error', listener: () => void): unknown }

function overNodeRedis(client: NodeRedis, close: () => unknown, options?: Listening): Connection {
  quiet(client)
    .connect()
    .catch(() => undefined)
  return {
    store: nodeRedisStore(client),
    notifier: nodeRedisNotifier(client, options),
    transport: nodeRedisTransport(client),
    close,
  }
}

const rootNodes = (nodes: readonly Address[]): { readonly socket: Address }[] =>
  addresses(nodes).map((socket) => ({ socket }))

/** The older versions of node-redis. The fourth has no client for Sentinels. */
const older: readonly TopologyClient[] = [
  {
    name: 'node-redis 5',
    toCluster(nodes, options) {
      const client = redis5.createCluster({ rootNodes: rootNodes(nodes) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
    toSentinel(sentinels, name) {
      const client = redis5.createSentinel({ name, sentinelRootNodes: addresses(sentinels) })
      return overNodeRedis(client, () => client.destroy())
    },
  },
  {
    name: 'node-redis 4',
    toCluster(nodes, options) {
      const client = redis4.createCluster({ rootNodes: rootNodes(nodes) })
      return overNodeRedis(client, () => client.disconnect(), options)
    },
  },
]

/** Every suite of this folder runs once with each of these. A further client is one more entry. */
export const clients: readonly TopologyClient[] = [
  {
    name: 'ioredis',
    toCluster: (nodes, options) => overIoredis(quiet(new Cluster(addresses(nodes))), options),
    toSentinel: (sentinels, name) => overIoredis(quiet(new Redis({ sentinels: addresses(sentinels), name }))),
  },
  {
    name: 'node-redis',
    toCluster(nodes, options) {
      const client = redis6.createCluster({ rootNodes: rootNodes(nodes) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
    toSentinel(sentinels, name) {
      const client = redis6.createSentinel({ name, sentinelRootNodes: addresses(sentinels) })
      return overNodeRedis(client, () => client.destroy())
    },
  },
  ...(soak ? older : []),
]

/** Those that have a client for Sentinels. */
export const sentinelClients = clients.filter(
  (client): client is Required<TopologyClient> => client.toSentinel !== undefined,
)
