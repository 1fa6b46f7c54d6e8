import type { ScriptReply } from '@leasehold/core/redis'
import { type RedisCluster, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusalClaims, runOver } from '../../../test/support/refusal-claims.ts'
import { behindProxy, close, type TestClient, tested } from '../test/clients.ts'
import { testedClusters } from '../test/clusters.ts'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisStore } from './node-redis-store.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

// Connections that cannot be made: which reason is reported, and when.

const run = (client: NodeRedisClient, signal?: AbortSignal): Promise<ScriptReply | undefined> =>
  runOver(nodeRedisTransport(client), signal)

const once = (client: TestClient, event: string): Promise<unknown> =>
  new Promise((resolve) => client.once(event, () => resolve(undefined)))

const right = 'the-right-password'
const wrong = 'the-wrong-password'

describe.each(tested)('over $name', ({ create }) => {
  const network = behindProxy(create)
  refusalClaims<TestClient>({
    network,
    connect: (user, port) => network.connect({ ...user, ...(port !== undefined && { socket: { port } }) }),
    close,
    transport: nodeRedisTransport,
    store: nodeRedisStore,
    listeners: (client) => client.listenerCount('error'),
    failed: (client) => once(client, 'error'),
    lost: (client) => once(client, 'error'),
    ready: (client) => once(client, 'ready'),
  })

  it('errors that nobody listens to are thrown by the client, while a call waits as at any time', async () => {
    network.proxy.refuse()
    const thrown = async (client: ReturnType<typeof create>): Promise<unknown> => {
      const threw = new Promise((resolve) => process.once('uncaughtException', resolve))
      const others = process.listeners('uncaughtException').slice(0, -1)
      for (const other of others) process.off('uncaughtException', other as never)
      const rejected = client.connect().catch((error: unknown) => error)
      const error = await Promise.race([threw, rejected])
      for (const other of others) process.on('uncaughtException', other as never)
      return (error as { code?: unknown }).code
    }
    const alone = network.unwatched({ socket: { reconnectStrategy: false } })
    const waitedFor = network.unwatched({ socket: { reconnectStrategy: false } })
    const controller = new AbortController()
    const reply = run(waitedFor, controller.signal)
    expect(await thrown(waitedFor)).toEqual(await thrown(alone))
    controller.abort()
    expect(await reply).toMatchObject({ executed: 'no', cause: { cause: { code: 'ECONNREFUSED' } } })
  })
})

describe.each(testedClusters)('over a cluster client of $name', ({ create }) => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  it('a wrong password and a user who may not read the slots are told so at once', async () => {
    for (const node of cluster.nodes) {
      await node.command('ACL', 'SETUSER', 'lock', 'reset', 'on', `>${right}`, '~*', '&*', '+@all', '-cluster')
    }
    const rootNodes = cluster.nodes.map(({ host, port }) => ({ socket: { host, port } }))
    for (const [password, words] of [
      [wrong, /^WRONGPASS/],
      [right, /^NOPERM/],
    ] as const) {
      const client = create({ rootNodes, defaults: { username: 'lock', password } })
      client.on('error', () => undefined)
      const reply = run(client)
      client.connect().catch(() => undefined)
      expect(await reply).toEqual({ type: 'error', message: expect.stringMatching(words) })
      await close(client)
    }
  })
})
