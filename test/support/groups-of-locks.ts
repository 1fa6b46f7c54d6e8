import { createLocker, type Locker, type LockerOptions } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { ioredisNotifier, ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Cluster, Redis } from 'ioredis'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { createBridge } from '../../packages/bridge/src/server/index.ts'
import { bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { quiet } from './quiet.ts'

/**
 * A Redis as seen by a caller that takes several locks: one server, or a cluster on which most keys are in different
 * slots.
 */
export interface Place extends AsyncDisposable {
  readonly nodes: readonly RedisServer[]
  /**
   * A locker with its own connection, as another process would have; on one server, through a proxy if there is one.
   */
  client(options?: Partial<LockerOptions>, proxyPort?: number): Locker
}

export async function oneServer(): Promise<Place> {
  const server = await startRedis()
  return place([server], (port = server.port) => {
    const [commands, releases] = [quiet(new Redis(port)), quiet(new Redis(port))]
    return [ioredisStore(commands), ioredisNotifier(releases), () => [commands, releases].forEach(disconnect)]
  })
}

/** Three nodes. */
async function aCluster(): Promise<Place> {
  const { nodes } = await startRedisCluster()
  const first = nodes.map(({ host, port }) => ({ host, port }))
  return place(nodes, () => {
    const [commands, releases] = [quiet(new Cluster(first)), quiet(new Cluster(first))]
    return [ioredisStore(commands), ioredisNotifier(releases), () => [commands, releases].forEach(disconnect)]
  })
}

const token = 'place-token-0123456789abcdef-0123456789abcdef'

/** Through the gateway. Waiters poll, or the bridge wakes them. */
async function overHttp(withBridge = false): Promise<Place> {
  const server = await startRedis()
  const redis = ioredisGateway(`redis://127.0.0.1:${server.port}`, { unansweredMs: 5_000 })
  const http = await listen(createGateway({ redis, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  const connections = [quiet(new Redis(server.port)), quiet(new Redis(server.port))] as const
  const [commands, releases] = connections
  const bridge = createBridge({
    store: ioredisStore(commands),
    subscriber: ioredisSubscriber(releases),
    auth: { tokens: [token] },
  })
  const bridgeHttp = await listen(bridge, { host: '127.0.0.1', port: 0 })
  return place(
    [server],
    () => [
      fetchStore({ url: http.url, token }),
      withBridge ? bridgeNotifier({ url: bridgeHttp.url, token }) : undefined,
      () => undefined,
    ],
    async () => {
      await bridgeHttp.close(0)
      await http.close(0)
      redis.close()
      connections.forEach(disconnect)
    },
  )
}

const disconnect = (client: Redis | Cluster): void => client.disconnect()

function place(
  nodes: readonly RedisServer[],
  connect: (port?: number) => [LeaseStore, ReleaseNotifier | undefined, () => void],
  close?: () => Promise<void>,
): Place {
  const ends: (() => Promise<void>)[] = []
  return {
    nodes,
    client(options = {}, proxyPort) {
      const [store, notifier, disconnectAll] = connect(proxyPort)
      const locks = createLocker({ store, notifier, ...options })
      ends.push(() => locks.close({ grace: 0 }).then(disconnectAll))
      return locks
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ends.map((end) => end()))
      await close?.()
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}

/** Places where a set takes one request, or one for each lock, or has no wake-ups. */
export const places: readonly (readonly [name: string, open: () => Promise<Place>])[] = [
  ['on one server', oneServer],
  ['on a cluster', aCluster],
  ['over HTTP', () => overHttp()],
]

/** The same, and one where the bridge wakes waiters. */
export const placesToWait: typeof places = [...places, ['over HTTP with the bridge', () => overHttp(true)]]
