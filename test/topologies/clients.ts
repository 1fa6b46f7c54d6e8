import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { RedisStoreOptions, RedisTransport } from '@leasehold/core/redis'
import { ioredisNotifier, ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { Cluster, Redis } from 'ioredis'
import { quiet } from '../support/quiet.ts'

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

/** A client library, connected as its users connect it to either topology. */
export interface TopologyClient {
  readonly name: string
  toCluster(nodes: readonly Address[], options?: RedisStoreOptions): Connection
  /** @param primaryName the name that the Sentinels know the primary by */
  toSentinel(sentinels: readonly Address[], primaryName: string, options?: RedisStoreOptions): Connection
}

/** Only what a client needs to know: a server is more than its address. */
const addresses = (servers: readonly Address[]): Address[] => servers.map(({ host, port }) => ({ host, port }))

const overIoredis = (client: Redis | Cluster, options: RedisStoreOptions = {}): Connection => ({
  store: ioredisStore(client, options),
  notifier: ioredisNotifier(client, { prefix: options.prefix }),
  transport: ioredisTransport(client),
  close: () => client.disconnect(),
})

/** As the README advises: a connection is given up if its server has stopped without a word, or is no primary any more. */
const redisOptions = {
  socketTimeout: 2_000,
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
}

/** Every suite of this folder runs once with each of these. A further client is one more entry. */
export const clients: readonly TopologyClient[] = [
  {
    name: 'ioredis',
    toCluster: (nodes, options) => overIoredis(quiet(new Cluster(addresses(nodes), { redisOptions })), options),
    toSentinel: (sentinels, name, options) =>
      overIoredis(quiet(new Redis({ ...redisOptions, sentinels: addresses(sentinels), name })), options),
  },
]
