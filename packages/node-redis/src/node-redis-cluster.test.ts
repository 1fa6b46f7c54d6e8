import { inspect } from 'node:util'
import {
  type ConfirmedRun,
  keySlot,
  type RedisTransport,
  replicaWaitOf,
  type ScriptCall,
  type ScriptReply,
} from '@leasehold/core/redis'
import { callUntil, startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { close } from '../test/clients.ts'
import { type Address, type ClusterOptions, type TestCluster, testedClusters } from '../test/clusters.ts'
import { nodeRedisTransport } from './node-redis-transport.ts'

const token = '0123456789abcdef0123456789abcdef.1700000000000000'
const increment = (key: string): ScriptCall => ({
  command: 'EVAL',
  body: "return redis.call('INCR', KEYS[1])",
  keys: [key, `{${key}}:other`],
  args: [token],
})
const value = (of: unknown, resent = false): ScriptReply => ({ type: 'value', value: of, resent })
const never = new AbortController().signal
const withWait =
  (transport: RedisTransport): RedisTransport['run'] =>
  async (calls, deadline) => {
    const run = replicaWaitOf(transport) as ConfirmedRun
    return (await run(calls, { replicas: 0, timeoutMs: 10 }, deadline)).map(({ reply }) => reply)
  }

describe.each(testedClusters)('nodeRedisTransport over a cluster client of $name', ({ create }) => {
  let cluster: RedisCluster
  /** Every node is reached through a proxy of its own. */
  let proxies: TcpProxy[]
  const open: TestCluster[] = []
  let names = 0

  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())
  beforeEach(async () => {
    proxies = await Promise.all(cluster.nodes.map(startTcpProxy))
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await close(client)
    await Promise.all(proxies.map((proxy) => proxy.stop()))
  })
  function idle(options: Partial<ClusterOptions> = {}): TestCluster {
    const addresses = new Map<string, Address>(
      cluster.nodes.map(({ host, port }, index) => [`${host}:${port}`, wayTo(proxies[index] as TcpProxy)]),
    )
    const client = create({
      rootNodes: proxies.map((proxy) => ({ socket: wayTo(proxy) })),
      defaults: { socket: { reconnectStrategy: 20 } },
      nodeAddressMap: (address) => addresses.get(address) as Address,
      ...options,
    })
    client.on('error', () => undefined)
    open.push(client)
    return client
  }
  async function connect(options?: Partial<ClusterOptions>): Promise<TestCluster> {
    const client = idle(options)
    await client.connect()
    return client
  }
  const wayTo = ({ host, port }: TcpProxy): Address => ({ host, port })

  /** A fresh key on the node with this index. */
  async function keyOn(index: number): Promise<string> {
    for (;;) {
      const key = `lock:key-${names++}`
      if ((await cluster.nodeOf(key)) === cluster.nodes[index]) return key
    }
  }

  it.each([{}, { minimizeConnections: true }])(
    'answers calls for all nodes in order, each sent once: %j',
    async (options) => {
      const transport = nodeRedisTransport(await connect(options))
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
      expect(new Set([a, b, c].map((key) => transport.nodeOf(key))).size).toBe(3)
    },
  )

  it('follows a slot to its new node, call by call', async () => {
    const transport = nodeRedisTransport(await connect())
    const [moved, stays] = [await keyOn(0), await keyOn(0)]
    await transport.run([increment(moved), increment(stays)], callUntil(never))
    const [from, to] = cluster.nodes as [RedisServer, RedisServer]
    await (await cluster.slotMove(moved, to)).whole()
    expect(await transport.run([increment(stays), increment(moved), increment(stays)], callUntil(never))).toEqual([
      value(2),
      value(2),
      value(3),
    ])
    await (await cluster.slotMove(moved, from)).whole()
  })

  it('says that a slot is being moved, and that the call was not carried out', async () => {
    const transport = nodeRedisTransport(await connect())
    const key = await keyOn(0)
    const [from, to] = cluster.nodes as [RedisServer, RedisServer]
    const [source, target] = [await from.command('CLUSTER', 'MYID'), await to.command('CLUSTER', 'MYID')].map(String)
    await to.command('CLUSTER', 'SETSLOT', keySlot(key), 'IMPORTING', source as string)
    await from.command('CLUSTER', 'SETSLOT', keySlot(key), 'MIGRATING', target as string)
    // It was sent to both nodes, and both refused it.
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([
      { type: 'error', message: expect.stringMatching(/^TRYAGAIN/) },
    ])
    for (const node of [to, from]) await node.command('CLUSTER', 'SETSLOT', keySlot(key), 'STABLE')
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(1)])
  })

  it('does not know what became of a call whose connection was lost, and sends it once', async () => {
    const transport = nodeRedisTransport(await connect())
    const key = await keyOn(1)
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(1)])
    const dropped = proxies[1]?.dropNextReply('cut')
    const again = transport.run([increment(key)], callUntil(never))
    await dropped
    expect(await again).toMatchObject([{ type: 'unknown', executed: 'unknown' }])
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(3)])
  })

  it('answers for the nodes it can reach when one is out of reach, and never sends that one’s call', async () => {
    const client = await connect()
    const transport = nodeRedisTransport(client)
    const [a, b] = [await keyOn(0), await keyOn(1)]
    await transport.run([increment(a), increment(b)], callUntil(never))
    proxies[0]?.refuse()
    proxies[0]?.cut()
    await expect.poll(() => transport.whenReady(a, callUntil(AbortSignal.abort())) !== undefined).toBe(true)
    const controller = new AbortController()
    const replies = transport.run([increment(a), increment(b)], callUntil(controller.signal))
    expect(await transport.run([increment(b)], callUntil(never))).toEqual([value(3)])
    controller.abort()
    expect(await replies).toMatchObject([{ type: 'unknown', executed: 'no' }, value(2)])
    expect(inspect(await replies, { depth: 10, showHidden: true })).not.toContain(token)
    await proxies[0]?.accept()
    expect(await transport.run([increment(a)], callUntil(never))).toEqual([value(2)])
  })

  it('holds calls to a silent node back, but one per half second, and none to the others', async () => {
    const transport = nodeRedisTransport(await connect())
    const [a, b] = [await keyOn(0), await keyOn(1)]
    await transport.run([increment(a), increment(b)], callUntil(never))
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    onTestFinished(() => now.mockRestore())
    const release = proxies[0]?.holdReplies()
    const calls = Array.from({ length: 1_000 }, () => increment(a))
    await transport.run(calls, callUntil(AbortSignal.timeout(0)))
    now.mockReturnValue(2_001)
    expect(await transport.run([increment(a), increment(b)], callUntil(never))).toMatchObject([
      { executed: 'no' },
      { value: 2 },
    ])
    release?.()
    now.mockReturnValue(2_501)
    expect(await transport.run([increment(a)], callUntil(never))).toMatchObject([{ type: 'value' }])
  })

  it.each([
    ['', (transport: RedisTransport) => transport.run],
    [', with WAIT, too', withWait],
  ])(
    'is held up by a silent node for its own keys alone, and finds who has them once another does%s',
    async (_, way) => {
      const run = way(nodeRedisTransport(await connect()))
      const [moved, stays, b] = [await keyOn(0), await keyOn(0), await keyOn(1)]
      const calls = [increment(moved), increment(stays), increment(b)]
      await run(calls, callUntil(never))
      const release = proxies[0]?.holdReplies()
      const given = run(calls, callUntil(AbortSignal.timeout(300)))
      expect(await run([increment(b)], callUntil(never))).toEqual([value(3)])
      const unanswered = { type: 'unknown', executed: 'unknown' }
      expect(await given).toMatchObject([unanswered, unanswered, value(2)])

      const [from, to] = cluster.nodes as [RedisServer, RedisServer]
      await (await cluster.slotMove(moved, to)).whole()
      const answer = async (): Promise<unknown> =>
        (await run([increment(moved)], callUntil(AbortSignal.timeout(300))))[0]
      await expect.poll(answer, { timeout: 10_000 }).toMatchObject({ type: 'value' })
      release?.()
      expect(await run([increment(stays)], callUntil(never))).toEqual([value(3)])
      await (await cluster.slotMove(moved, from)).whole()
    },
  )

  it('has a node connected anew whose connection was closed', async () => {
    const client = await connect()
    const transport = nodeRedisTransport(client)
    const key = await keyOn(0)
    await transport.run([increment(key)], callUntil(never))
    await close(client.slots[keySlot(key)]?.master.client as object)
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(2)])
  })

  it('has a node connected anew whose connection was lost, also where the client is never to reconnect', async () => {
    const client = await connect({ defaults: { socket: { reconnectStrategy: false } } })
    const transport = nodeRedisTransport(client)
    const key = await keyOn(0)
    await transport.run([increment(key)], callUntil(never))
    const connection = client.slots[keySlot(key)]?.master.client as { readonly isOpen: boolean }
    proxies[0]?.cut()
    await expect.poll(() => connection.isOpen).toBe(false)
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(2)])
  })

  it('never sends what was aborted while it waited for the cluster', async () => {
    const client = idle()
    const transport = nodeRedisTransport(client)
    const key = await keyOn(0)
    const controller = new AbortController()
    const replies = transport.run([increment(key)], callUntil(controller.signal))
    controller.abort()
    expect(await replies).toMatchObject([{ type: 'unknown', executed: 'no' }])
    await client.connect()
    expect(await transport.run([increment(key)], callUntil(never))).toEqual([value(1)])
    await close(client)
    expect(await transport.run([increment(key)], callUntil(never))).toMatchObject([{ executed: 'no' }])
  })

  it('leaves no listener on the client', async () => {
    const client = idle()
    const counts = (): number[] => ['ready', 'end', 'error'].map((event) => client.listenerCount(event))
    const before = counts()
    const controller = new AbortController()
    const reply = nodeRedisTransport(client).run([increment('lock:a')], callUntil(controller.signal))
    expect(counts()).not.toEqual(before)
    controller.abort()
    await reply
    expect(counts()).toEqual(before)
  })
})
