import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisStoreOptions, RedisTransport } from '@leasehold/core/redis'
import { type ioredisBackend, ioredisNotifier, ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { type NodeRedisClient, nodeRedisNotifier, nodeRedisStore, nodeRedisTransport } from '@leasehold/node-redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
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

/** How a connection listens, the options of its store, and how it reaches the servers. */
export interface Options extends RedisStoreOptions, Pick<PubsubNotifierOptions, 'mode'> {
  /** Where to find a server instead of at its own address, such as behind a proxy. By `host:port`. */
  readonly through?: Readonly<Record<string, Address>>
}

/** A client library, connected as its users connect it to either topology. */
export interface TopologyClient {
  readonly name: string
  toCluster(nodes: readonly Address[], options?: Options): Connection
  /** @param primaryName the name by which the Sentinels know the primary */
  toSentinel?(sentinels: readonly Address[], primaryName: string, options?: Options): Connection
}

/** Only what a client needs to know: a server is more than its address. */
const addresses = (servers: readonly Address[]): Address[] => servers.map(({ host, port }) => ({ host, port }))

type Ioredis = Parameters<typeof ioredisBackend>[0] & {
  disconnect(): void
  on(event: 'error', listener: () => void): unknown
}
type IoredisOptions = typeof redisOptions & { readonly natMap?: Record<string, Address> }

/** The classes that ioredis and its fork have in common. */
interface IoredisLibrary {
  readonly Cluster: new (
    nodes: Address[],
    options: { readonly redisOptions: IoredisOptions; readonly natMap: Record<string, Address> },
  ) => Ioredis
  readonly Redis: new (options: IoredisOptions & { readonly sentinels: Address[]; readonly name: string }) => Ioredis
}

const overIoredis = (client: Ioredis, { prefix, fenceMemory, mode }: Options = {}): Connection => ({
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

const ioredis = (name: string, { Cluster, Redis }: IoredisLibrary): Required<TopologyClient> => ({
  name,
  toCluster(nodes, options) {
    const natMap = { ...options?.through }
    return overIoredis(quiet(new Cluster(addresses(nodes), { redisOptions, natMap })), options)
  },
  toSentinel(sentinels, primary, options) {
    const natMap = { ...options?.through }
    const given = { ...redisOptions, sentinels: addresses(sentinels), name: primary, natMap }
    return overIoredis(quiet(new Redis(given)), options)
  },
})

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

const mapped = (options: Options = {}): { readonly nodeAddressMap: Record<string, Address> } => ({
  nodeAddressMap: { ...options.through },
})

/** Older versions and the fork. The fourth node-redis has no client for Sentinels. */
const others: readonly TopologyClient[] = [
  ioredis('ioredis 5', ioredis5),
  ioredis('iovalkey', iovalkey),
  {
    name: 'node-redis 5',
    toCluster(nodes, options) {
      const client = redis5.createCluster({ rootNodes: rootNodes(nodes), ...mapped(options) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
    toSentinel(sentinels, name, options) {
      const client = redis5.createSentinel({ name, sentinelRootNodes: addresses(sentinels), ...mapped(options) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
  },
  {
    name: 'node-redis 4',
    toCluster(nodes, options) {
      const client = redis4.createCluster({ rootNodes: rootNodes(nodes), ...mapped(options) })
      return overNodeRedis(client, () => client.disconnect(), options)
    },
  },
]

/** Every suite of this folder runs once with each of these. A further client is one more entry. */
export const clients: readonly TopologyClient[] = [
  ioredis('ioredis', ioredis6),
  {
    name: 'node-redis',
    toCluster(nodes, options) {
      const client = redis6.createCluster({ rootNodes: rootNodes(nodes), ...mapped(options) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
    toSentinel(sentinels, name, options) {
      const client = redis6.createSentinel({ name, sentinelRootNodes: addresses(sentinels), ...mapped(options) })
      return overNodeRedis(client, () => client.destroy(), options)
    },
  },
  ...(soak ? others : []),
]

/** The clients that support Sentinels. */
export const sentinelClients = clients.filter(
  (client): client is Required<TopologyClient> => client.toSentinel !== undefined,
)
