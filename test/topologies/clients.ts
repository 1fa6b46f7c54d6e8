import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisStoreOptions, RedisTransport } from '@leasehold/core/redis'
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

/** A separate connection, as another process would have. */
export interface Connection {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier
  readonly transport: RedisTransport
  close(): void
}

/** How a connection listens, and the options of its store. */
type Options = RedisStoreOptions & Pick<PubsubNotifierOptions, 'mode'>

/** A client library, connected as its users connect it to either topology. */
export interface TopologyClient {
  readonly name: string
  toCluster(nodes: readonly Address[], options?: Options): Connection
  /** @param primaryName the name by which the Sentinels know the primary */
  toSentinel?(sentinels: readonly Address[], primaryName: string, options?: Options): Connection
}

/** Only what a client needs to know: a server is more than its address. */
const addresses = (servers: readonly Address[]): Address[] => servers.map(({ host, port }) => ({ host, port }))

const overIoredis = (client: Redis | Cluster, { prefix, fenceMemory, mode }: Options = {}): Connection => ({
  store: ioredisStore(client, { prefix, fenceMemory }),
  notifier: ioredisNotifier(client, { prefix, mode }),
  transport: ioredisTransport(client),
  close: () => client.disconnect(),
})

/** As the README advises: a connection is given up if its server has stopped silently, or is no longer a primary. */
const redisOptions = {
  socketTimeout: 2_000,
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
}

type NodeRedis = NodeRedisClient & { connect(): Promise<unknown>; on(event: 'error', listener: () => void): unknown }

function overNodeRedis(
  client: NodeRedis,
  close: () => unknown,
  { prefix, fenceMemory, mode }: Options = {},
): Connection {
  quiet(client)
    .connect()
    .catch(() => undefined)
  return {
    store: nodeRedisStore(client, { prefix, fenceMemory }),
    notifier: nodeRedisNotifier(client, { prefix, mode }),
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
    toSentinel(sentinels, name, options) {
      const client = redis5.createSentinel({ name, sentinelRootNodes: addresses(sentinels) })
      return overNodeRedis(client, () => client.destroy(), options)
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
    toCluster: (nodes, options) => overIoredis(quiet(new Cluster(addresses(nodes), { redisOptions })), options),
    toSentinel: (sentinels, name, options) =>
      overIoredis(quiet(new Redis({ ...redisOptions, sentinels: addresses(sentinels), name })), options),
  },
  {
    name: 'node-redis',
    toCluster(nodes, options) {
      const client = redis6.createCluster({ rootNodes: rootNodes(nodes) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
    toSentinel(sentinels, name, options) {
      const client = redis6.createSentinel({ name, sentinelRootNodes: addresses(sentinels) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
  },
  ...(soak ? older : []),
]

/** The clients that support Sentinels. */
export const sentinelClients = clients.filter(
  (client): client is Required<TopologyClient> => client.toSentinel !== undefined,
)
