import { inspect } from 'node:util'
import { keySlot, type ScriptCall, type ScriptReply } from '@leasehold/core/redis'
import { callUntil, startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ioredisTransport } from './ioredis-transport.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const increment = (key: string): ScriptCall => ({
  command: 'EVAL',
  body: "return redis.call('INCR', KEYS[1])",
  keys: [key, `{${key}}:other`],
  args: [token],
})
const value = (of: unknown, resent = false): ScriptReply => ({ type: 'value', value: of, resent })
const never = new AbortController().signal

interface Address {
  readonly host: string
  readonly port: number
}
/** Every node is reached through a proxy of its own. */
type NatMap = Record<string, Address>

/** The options of a node's connection that these tests use. */
interface NodeOptions {
  commandTimeout?: number
}

const clients = [
  {
    name: 'ioredis 6',
    create: (nodes: Address[], natMap: NatMap, redisOptions: NodeOptions) =>
      new ioredis6.Cluster(nodes, { natMap, redisOptions, lazyConnect: true }),
  },
  {
    name: 'ioredis 5',
    create: (nodes: Address[], natMap: NatMap, redisOptions: NodeOptions) =>
      new ioredis5.Cluster(nodes, { natMap, redisOptions, lazyConnect: true }),
  },
  {
    name: 'iovalkey',
    create: (nodes: Address[], natMap: NatMap, redisOptions: NodeOptions) =>
      new iovalkey.Cluster(nodes, { natMap, redisOptions, lazyConnect: true }),
  },
]

describe.each(clients)('ioredisTransport over a cluster client of $name', ({ create }) => {
  let cluster: RedisCluster
  let proxies: TcpProxy[]
  let client: ReturnType<typeof create>
  let connect: (redisOptions?: NodeOptions) => void
  let names = 0

  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())
  beforeEach(async () => {
    proxies = await Promise.all(cluster.nodes.map(startTcpProxy))
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }, index) => [`${host}:${port}`, proxies[index] as TcpProxy]),
    )
    connect = (redisOptions = {}) => {
      client?.disconnect()
      client = create(
        proxies.map(({ host, port }) => ({ host, port })),
        Object.fromEntries(Object.entries(natMap).map(([name, { host, port }]) => [name, { host, port }])),
        redisOptions,
      )
      client.on('error', () => undefined)
    }
    connect()
  })
  afterEach(async () => {
    client.disconnect()
    await Promise.all(proxies.map((proxy) => proxy.stop()))
  })

  /** A fresh key on the node with this index. */
  async function keyOn(index: number): Promise<string> {
    for (;;) {
      const key = `lock:key-${names++}`
      if ((await cluster.nodeOf(key)) === cluster.nodes[index]) return key
    }
  }
  /** Indexes of the nodes that the client has not connected to: all but the one it asked about the cluster. */
  const notConnected = (): number[] =>
    [0, 1, 2].filter((index) =>
      client.nodes().some(({ status, options }) => status === 'wait' && options.port === proxies[index]?.port),
    )

  it('answers calls for all nodes in order, each sent once', async () => {
    const transport = ioredisTransport(client)
    expect(transport.cluster).toBe(true)
    const [a, b, c] = [await keyOn(0), await keyOn(1), await keyOn(2)]
    const missing: ScriptCall = { command: 'EVALSHA', body: 'f'.repeat(40), keys: [b], args: [token] }
    // The first run meets nodes that nobody has connected to yet.
    await transport.run([increment(a), increment(b), increment(c)], callUntil(never))
    const replies = await transport.run(
      [increment(c), increment(a), missing, increment(b), increment(a)],
      callUntil(never),
    )
    const error = { type: 'error', message: expect.stringMatching(/^NOSCRIPT/) }
    expect(replies).toEqual([value(2), value(2), error, value(2), value(3)])
  })

  it('follows a slot to its new node, call by call', async () => {
    const transport = ioredisTransport(client)
    const [moved, stays] = [await keyOn(0), await keyOn(0)]
    await transport.run([increment(moved), increment(stays)], callUntil(never))
    const [from, to] = cluster.nodes as [RedisServer, RedisServer]
    await (await cluster.slotMove(moved, to)).whole()
    expect(await transport.run([increment(stays), increment(moved), increment(stays)], callUntil(never))).toMatchObject(
      [
        { type: 'value', value: 2 },
        { type: 'value', value: 2 },
        { type: 'value', value: 3 },
      ],
    )
    await (await cluster.slotMove(moved, from)).whole()
  })

  it('says that a slot is being moved when the client has had enough of it, and to calls that are given up before', async () => {
    const transport = ioredisTransport(client)
    const key = await keyOn(0)
    const [from, to] = cluster.nodes as [RedisServer, RedisServer]
    const [source, target] = [await from.command('CLUSTER', 'MYID'), await to.command('CLUSTER', 'MYID')].map(String)
    await to.command('CLUSTER', 'SETSLOT', keySlot(key), 'IMPORTING', source as string)
    await from.command('CLUSTER', 'SETSLOT', keySlot(key), 'MIGRATING', target as string)
    const moved = expect.stringMatching(/TRYAGAIN .*sent the request from one to the other/)
    expect(await transport.run([increment(key)], callUntil(never))).toMatchObject([{ type: 'error', message: moved }])
    expect(await transport.run([increment(key)], callUntil(AbortSignal.timeout(0)))).toMatchObject([
      { type: 'unknown', executed: 'unknown', cause: { message: moved } },
    ])
    // Wait until the client gives up the abandoned call, too: an ASKING of the client's own that a disconnect cuts off
    // rejects where nobody can catch it.
    expect(await transport.run([increment(key)], callUntil(never))).toMatchObject([{ type: 'error', message: moved }])
    for (const node of [to, from]) await node.command('CLUSTER', 'SETSLOT', keySlot(key), 'STABLE')
    expect(await transport.run([increment(key)], callUntil(never))).toMatchObject([{ type: 'value' }])
  })

  it('says that an answer is to a repeated request when a connection was lost in between', async () => {
    const transport = ioredisTransport(client)
    const key = await keyOn(1)
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([expect.objectContaining({ value: 1 })])
    const dropped = proxies[1]?.dropNextReply('cut')
    const again = transport.run([increment(key)], callUntil(never))
    await dropped
    const [reply] = await again
    expect(reply).toMatchObject({ type: 'value', resent: true })
    // Carried out twice: once unanswered, once answered.
    expect(reply).toMatchObject({ value: 3 })
  })

  it('answers for the nodes it can reach when one is out of reach, and never sends that one’s call', async () => {
    const transport = ioredisTransport(client)
    await client.connect()
    const [lost, ...others] = notConnected()
    const [a, b] = [await keyOn(lost as number), await keyOn(others[0] as number)]
    proxies[lost as number]?.blackHole()
    const controller = new AbortController()
    const replies = transport.run([increment(a), increment(b)], callUntil(controller.signal))
    const [after] = await transport.run([increment(b)], callUntil(never))
    expect(after).toMatchObject({ value: 2 })
    controller.abort()
    expect(await replies).toMatchObject([
      { type: 'unknown', executed: 'no' },
      { type: 'value', value: 1 },
    ])
    expect(inspect(await replies, { depth: 10, showHidden: true })).not.toContain(token)
    proxies[lost as number]?.restore()
    expect(await transport.run([increment(a)], callUntil(never))).toMatchObject([{ value: 1 }])
  })

  it.each<[string, NodeOptions]>([
    ['', {}],
    [', also where its late answers reach nobody', { commandTimeout: 1_000 }],
  ])(
    'holds calls to a silent node back, but one per half second, and none to the others%s',
    async (_, redisOptions) => {
      connect(redisOptions)
      const transport = ioredisTransport(client)
      const [a, b] = [await keyOn(0), await keyOn(1)]
      await transport.run([increment(a), increment(b)], callUntil(never))
      const now = vi.spyOn(performance, 'now').mockReturnValue(0)
      onTestFinished(() => now.mockRestore())
      proxies[0]?.blackHole()
      const calls = Array.from({ length: 1_000 }, () => increment(a))
      if (redisOptions.commandTimeout) await transport.run(calls, callUntil(never))
      else await transport.run(calls, callUntil(AbortSignal.timeout(0)))
      now.mockReturnValue(2_001)
      expect(await transport.run([increment(a), increment(b)], callUntil(never))).toMatchObject([
        { executed: 'no' },
        { value: 2 },
      ])

      proxies[0]?.restore()
      const node = client.nodes().find(({ options }) => options.port === proxies[0]?.port)
      // Replies come in order, so the thousand have been answered by then.
      expect(await node?.ping()).toBe('PONG')
      if (redisOptions.commandTimeout)
        expect(await transport.run([increment(a)], callUntil(never))).toMatchObject([{ executed: 'no' }])
      now.mockReturnValue(2_501)
      expect(await transport.run([increment(a)], callUntil(never))).toEqual([value(1_002)])
    },
  )

  it('never sends what was aborted while it waited for the cluster', async () => {
    for (const proxy of proxies) proxy.refuse()
    const transport = ioredisTransport(client)
    const key = await keyOn(0)
    const controller = new AbortController()
    const replies = transport.run([increment(key)], callUntil(controller.signal))
    controller.abort()
    expect(await replies).toMatchObject([{ type: 'unknown', executed: 'no' }])
    await Promise.all(proxies.map((proxy) => proxy.accept()))
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(1)])
  })

  it('leaves no listener on the client or its nodes', async () => {
    const transport = ioredisTransport(client)
    await client.connect()
    const waiting = await Promise.all(notConnected().map(keyOn))
    for (const proxy of proxies) proxy.blackHole()
    for (const node of client.nodes()) if (node.status === 'wait') node.connect().catch(() => undefined)
    // Connected to a black hole, and waiting for its answer.
    await expect.poll(() => client.nodes().filter(({ status }) => status === 'connect')).toHaveLength(waiting.length)
    const counts = (): number[] =>
      [client, ...client.nodes()].flatMap((each) => [each.listenerCount('ready'), each.listenerCount('end')])
    const before = counts()
    const controller = new AbortController()
    const replies = transport.run(waiting.map(increment), callUntil(controller.signal))
    expect(counts()).not.toEqual(before)
    controller.abort()
    for (const reply of await replies) expect(reply).toMatchObject({ type: 'unknown', executed: 'no' })
    expect(counts()).toEqual(before)
  })
})

it('refuses a cluster client that renames keys, by name', () => {
  const client = new ioredis6.Cluster([{ host: '127.0.0.1', port: 1 }], {
    redisOptions: { keyPrefix: 'app:' },
    lazyConnect: true,
  })
  expect(() => ioredisTransport(client)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option: 'client' }))
  client.disconnect()
})
