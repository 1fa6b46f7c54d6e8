import { type CheckReport, check } from '@leasehold/core/check'
import {
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '@leasehold/testkit/redis'
import * as redis6 from 'redis'
import * as redis5 from 'redis-5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClientOptions, clients, close, soak, tested } from '../test/clients.ts'
import { testedClusters } from '../test/clusters.ts'
import type { NodeRedisClient } from './index.ts'
import { nodeRedisBackend } from './node-redis-backend.ts'

/*
 * What `check` reports over this client: what it sees of the client's options, and of the kind of server. What it
 * reports about servers otherwise is tested over ioredis, in `test/check`.
 */

/** Checks the server behind a client that is still to be connected, and closes the client. */
async function reportOver(client: NodeRedisClient & { connect(): Promise<unknown> }): Promise<CheckReport> {
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  const backend = nodeRedisBackend(client)
  try {
    return await check(backend)
  } finally {
    await backend.notifier.close()
    await close(client)
  }
}
const codesIn = ({ findings }: CheckReport): readonly string[] =>
  findings.map(({ severity, code }) => `${severity} ${code}`)

const kept = ['--appendonly', 'yes']
let server: RedisServer
beforeAll(async () => {
  server = await startRedis({ args: kept })
  await server.command('ACL', 'SETUSER', 'shop', 'on', '>password', '~*', '&*', '+@all', '-publish', '-subscribe')
})
afterAll(() => server.stop())

const quick = { socketTimeout: 10_000 }

describe.each(clients)('over $name', ({ create }) => {
  const report = ({ socket, ...more }: ClientOptions = {}): Promise<CheckReport> =>
    reportOver(create({ socket: { port: server.port, ...quick, ...socket }, pingInterval: 3_000, ...more }))
  const codes = async (options?: ClientOptions): Promise<readonly string[]> => codesIn(await report(options))

  it('a server for locks has no findings, and its facts are there', async () => {
    const { findings, facts } = await report()
    expect(findings).toEqual([])
    expect(facts).toMatchObject({
      nodes: [{ report: { role: 'primary' } }],
      ping: { rounds: 5 },
      wakeUp: { rounds: 1 },
    })
  })

  it('what the user may not do is told, and that it is not let in', async () => {
    const user = { username: 'shop', password: 'password' }
    expect(await codes(user)).toEqual(['warning PUBLISH_FORBIDDEN', 'warning LISTEN_FORBIDDEN'])
    expect(await codes({ ...user, password: 'wrong' })).toEqual(['error LOGIN_REFUSED'])
  })

  it('that the server keeps no snapshots is asked past scripts', async () => {
    await server.command('CONFIG', 'SET', 'appendonly', 'no')
    expect(await codes()).toEqual(['warning NO_PERSISTENCE'])
    await server.command('CONFIG', 'SET', 'appendonly', 'yes')
  })

  it('risky options are told', async () => {
    expect(await codes({ pingInterval: 0, commandsQueueMaxLength: 100, socket: { reconnectStrategy: false } })).toEqual(
      ['warning CLIENT_NEVER_RECONNECTS', 'info CLIENT_QUEUE_LIMIT', 'info CLIENT_NO_SOCKET_TIMEOUT'],
    )
  })
})

describe('a server of the wrong kind', () => {
  let [primary, replica]: RedisServer[] = []
  let cluster: RedisCluster
  let set: RedisSentinel
  beforeAll(async () => {
    ;[primary, cluster, set] = await Promise.all([
      startRedis({ args: kept }),
      startRedisCluster({ args: kept }),
      startRedisSentinel({ replicas: 0, sentinels: 1, args: kept }),
    ])
    replica = await startRedis({ replicaOf: primary, args: kept })
  })
  afterAll(() => Promise.all([replica, primary, cluster, set].map((each) => each?.stop())))

  const careful = { socket: quick, pingInterval: 3_000 }
  const risky = { commandsQueueMaxLength: 100, socket: { reconnectStrategy: false as const } }
  // `reconnectStrategy` is no risk here: such clients connect anew.
  const told = ['info CLIENT_QUEUE_LIMIT', 'info CLIENT_NO_SOCKET_TIMEOUT']

  describe.each(tested)('over $name', ({ create }) => {
    const at = async (server: RedisServer | undefined): Promise<readonly string[]> =>
      codesIn(await reportOver(create({ ...careful, socket: { ...quick, port: server?.port ?? 0 } })))

    it('a replica, a Sentinel and a node of a cluster are told', async () => {
      expect(await at(replica)).toEqual(['error IS_REPLICA'])
      expect(await at(set.sentinels[0])).toEqual(['error IS_SENTINEL'])
      expect(await at(cluster.nodes[0])).toEqual(['error CLUSTER_NEEDS_CLIENT'])
    })
  })

  describe.each(testedClusters)('over a cluster client of $name', ({ create }) => {
    const at = async ({ port }: RedisServer, defaults: ClientOptions): Promise<readonly string[]> =>
      codesIn(await reportOver(create({ rootNodes: [{ socket: { host: '127.0.0.1', port } }], defaults })))

    it('a cluster has no findings, a server that is none is told', async () => {
      expect(await at(cluster.nodes[0] as RedisServer, careful)).toEqual([])
      expect(await at(primary as RedisServer, careful)).toEqual(['error NOT_A_CLUSTER'])
    })

    it('risky options are told', async () => {
      expect(await at(cluster.nodes[0] as RedisServer, risky)).toEqual(told)
    })
  })

  type Make = (options: object) => NodeRedisClient & { connect(): Promise<unknown> }
  const sentinels: [name: string, create: Make][] = [
    ['node-redis 6', redis6.createSentinel as unknown as Make],
    ['node-redis 5', redis5.createSentinel as unknown as Make],
  ]
  describe.each(soak ? sentinels : sentinels.slice(0, 1))('over a Sentinel client of %s', (_, create) => {
    const codes = async (nodeClientOptions: ClientOptions): Promise<readonly string[]> => {
      const sentinelRootNodes = set.sentinels.map(({ host, port }) => ({ host, port }))
      return codesIn(await reportOver(create({ name: set.name, sentinelRootNodes, nodeClientOptions })))
    }

    it('the primary has no findings, risky options are told', async () => {
      expect(await codes(careful)).toEqual([])
      expect(await codes(risky)).toEqual(told)
    })
  })
})
