import { AsyncLocalStorage } from 'node:async_hooks'
import { inspect } from 'node:util'
import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'
import { callUntil } from '@leasehold/testkit'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { refusalClaims } from '../../../test/support/refusal-claims.ts'
import { behindProxy, type ClientOptions, clients } from '../test/clients.ts'
import type { IoredisClient } from './ioredis-client.ts'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisTransport } from './ioredis-transport.ts'

// Connections that cannot be made: which reason is reported, and when.

const never = new AbortController().signal
const increment = (key = 'lock:a'): ScriptCall => ({
  command: 'EVAL',
  body: "return redis.call('INCR', KEYS[1])",
  keys: [key],
  args: [],
})
const run = async (client: IoredisClient, signal = never): Promise<ScriptReply | undefined> =>
  (await ioredisTransport(client).run([increment()], callUntil(signal)))[0]

const once = (client: { once(event: string, heard: () => void): unknown }, event: string): Promise<unknown> =>
  new Promise((resolve) => client.once(event, () => resolve(undefined)))

const right = 'the-right-password'
const wrong = 'the-wrong-password'

describe.each(clients)('over $name', ({ create }) => {
  const network = behindProxy(create)
  const { connect, unwatched } = network
  afterEach(() => {
    vi.restoreAllMocks()
  })

  refusalClaims<ReturnType<typeof create>>({
    network,
    connect: (user, port) => connect({ ...user, ...(port !== undefined && { port }) }),
    close: (client) => client.disconnect(),
    transport: ioredisTransport,
    store: ioredisStore,
    listeners: (client) => client.listenerCount('end'),
    failed: (client) => once(client, 'error'),
    lost: (client) => once(client, 'close'),
    ready: (client) => once(client, 'ready'),
  })

  it('a password that the server asks for ends a call at once also where the client does not ask whether it is ready', async () => {
    await using locked = await startRedis({ args: ['--requirepass', right] })
    const client = connect({ port: locked.port, enableReadyCheck: false })
    expect(await run(client)).toEqual({ type: 'error', message: expect.stringMatching(/^NOAUTH/) })
  })

  it('a client to whose errors nobody listens says them on the console, while a call waits as at any time', async () => {
    const said = vi.spyOn(console, 'error').mockReturnValue(undefined)
    network.proxy.refuse()
    const waitedFor = unwatched({ retryStrategy: () => null })
    expect(await run(waitedFor)).toMatchObject({ executed: 'no', cause: { cause: { code: 'ECONNREFUSED' } } })
    const words = said.mock.calls.map(([first]) => first)
    said.mockClear()
    const alone = unwatched({ retryStrategy: () => null })
    await new Promise((resolve) => alone.once('end', resolve))
    expect(words).toEqual(['[ioredis] Unhandled error event:'])
    expect(said.mock.calls.map(([first]) => first)).toEqual(words)
    said.mockClear()
    await run(connect({ retryStrategy: () => null }))
    expect(said).not.toHaveBeenCalled()
  })

  it('a connection that a call begins is in the async context in which the transport was made', async () => {
    const context = new AsyncLocalStorage<string>()
    const client = connect({ lazyConnect: true })
    const transport = context.run('home', () => ioredisTransport(client))
    const seen = new Promise((resolve) => client.once('ready', () => resolve(context.getStore())))
    await context.run('request', () => transport.run([increment()], callUntil(never)))
    expect(await seen).toBe('home')
  })
})

const clusterClients = [
  {
    name: 'ioredis 6',
    create: (nodes: Address[], redisOptions: ClientOptions) => new ioredis6.Cluster(nodes, { redisOptions }),
  },
  {
    name: 'ioredis 5',
    create: (nodes: Address[], redisOptions: ClientOptions) => new ioredis5.Cluster(nodes, { redisOptions }),
  },
  {
    name: 'iovalkey',
    create: (nodes: Address[], redisOptions: ClientOptions) => new iovalkey.Cluster(nodes, { redisOptions }),
  },
]

interface Address {
  readonly host: string
  readonly port: number
}

describe.each(clusterClients)('over a cluster client of $name', ({ create }) => {
  let cluster: RedisCluster
  const open: { disconnect(): void }[] = []
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())
  beforeEach(async () => {
    for (const node of cluster.nodes) {
      await node.command('ACL', 'SETUSER', 'lock', 'reset', 'on', `>${right}`, '~*', '&*', '+@all')
    }
  })
  afterEach(() => {
    for (const client of open.splice(0)) client.disconnect()
  })
  function connect(password: string): ReturnType<typeof create> {
    const client = create(
      cluster.nodes.map(({ host, port }) => ({ host, port })),
      { username: 'lock', password },
    )
    client.on('error', () => undefined)
    open.push(client)
    return client
  }

  it('a wrong password ends a call at once, in the server’s words', async () => {
    // A new connection without the password would be refused. These have logged in already.
    const admins = cluster.nodes.map(({ port }) => new ioredis6.Redis(port))
    await Promise.all(admins.map((admin) => admin.config('SET', 'requirepass', right)))
    const reply = await run(connect(wrong))
    await Promise.all(admins.map((admin) => admin.config('SET', 'requirepass', '')))
    for (const admin of admins) admin.disconnect()
    expect(reply).toEqual({ type: 'error', message: expect.stringMatching(/^(WRONGPASS|NOAUTH)/) })
    expect(inspect(reply, { depth: 10, showHidden: true })).not.toContain(wrong)
  })

  it('a user who may not read the slots is told so at once', async () => {
    for (const node of cluster.nodes) await node.command('ACL', 'SETUSER', 'lock', '-cluster')
    expect(await run(connect(right))).toEqual({ type: 'error', message: expect.stringMatching(/^NOPERM/) })
  })

  it('a node that refuses the password costs the calls of its own keys only', async () => {
    const [node] = cluster.nodes as [RedisServer, RedisServer]
    const keys = new Map<RedisServer, string>()
    for (let index = 0; keys.size < 2; index++) {
      const acquisitionId = await cluster.nodeOf(`lock:${index}`)
      if (acquisitionId === node || !keys.has(acquisitionId)) keys.set(acquisitionId, `lock:${index}`)
    }
    await node.command('ACL', 'SETUSER', 'lock', 'resetpass', '>another-password')
    const calls = [...keys.values()].map(increment)
    const replies = await ioredisTransport(connect(right)).run(calls, callUntil(never))
    expect(
      new Map([...keys.keys()].map((acquisitionId, index) => [acquisitionId === node, replies[index]?.type])),
    ).toEqual(
      new Map([
        [true, 'error'],
        [false, 'value'],
      ]),
    )
  })
})
