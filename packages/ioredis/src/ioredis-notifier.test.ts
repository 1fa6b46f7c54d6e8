import { AsyncLocalStorage } from 'node:async_hooks'
import { inspect } from 'node:util'
import { createLocker, type Locker } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions } from '@leasehold/core/redis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { clients } from '../test/clients.ts'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'

const inTurn = { concurrent: false }

/** Each client has a server of its own, and its tests one after another; the clients are side by side, since mostly they wait. */
describe.concurrent.each(clients)('ioredisNotifier over $name', ({ create }) => {
  let server: RedisServer
  let proxy: TcpProxy
  let notifier: ReleaseNotifier
  const open: (() => unknown)[] = []

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    proxy = await startTcpProxy({ port: server.port })
    notifier = notify()
  })
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
    await proxy.stop()
  })

  function client(port = proxy.port): ReturnType<typeof create> {
    const made = create({ port })
    made.on('error', () => undefined)
    open.push(() => made.disconnect())
    return made
  }
  function notify(options?: PubsubNotifierOptions): ReleaseNotifier {
    const made = ioredisNotifier(client(), options)
    open.push(() => made.close())
    return made
  }
  const publish = (channel: string): Promise<unknown> => server.command('PUBLISH', channel, 'released 1')
  const subscribers = async (channel: string): Promise<unknown> =>
    ((await server.command('PUBSUB', 'NUMSUB', channel)) as unknown[])[1]
  const pubsubClients = async (): Promise<number> =>
    String(await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .split('\n')
      .filter((line) => line.includes('id=')).length
  const signalled = (subscription: ReturnType<ReleaseNotifier['subscribe']>, seen: number): Promise<void> =>
    new Promise((resolve) => subscription.onSignal(seen, resolve))

  it('hears the releases of a key once its subscription is ready, and of no other key', inTurn, async ({ expect }) => {
    const subscription = notifier.subscribe('a', '-')
    await subscription.ready
    expect(subscription.live).toBe(true)
    await publish('lock:release:b')
    await publish('lock:release:a')
    await signalled(subscription, 0)
    expect(subscription.signals).toBe(1)
    subscription.close()
    expect(subscription.live).toBe(false)
  })

  it('does no I/O before the first subscription', inTurn, async ({ expect }) => {
    await client().ping()
    // That of this client, and of the one that the notifier was made with.
    await expect.poll(() => proxy.accepted).toBe(2)
    expect(await pubsubClients()).toBe(0)
    await notifier.subscribe('first', '-').ready
    expect([proxy.accepted, await pubsubClients()]).toEqual([3, 1])
  })

  it(
    'uses one connection and one subscription for all waiters of a key, and ends both with close()',
    inTurn,
    async ({ expect }) => {
      const subscriptions = Array.from({ length: 20 }, () => notifier.subscribe('shared', '-'))
      await Promise.all(subscriptions.map(({ ready }) => ready))
      expect(await subscribers('lock:release:shared')).toBe(1)
      expect(await pubsubClients()).toBe(1)
      await publish('lock:release:shared')
      await Promise.all(subscriptions.map((subscription) => signalled(subscription, 0)))
      await notifier.close()
      await expect.poll(pubsubClients).toBe(0)
      expect(subscriptions.some(({ live }) => live)).toBe(false)
    },
  )

  it('leaves a channel a while after its last waiter has gone', inTurn, async ({ expect }) => {
    const subscription = notifier.subscribe('linger', '-')
    await subscription.ready
    subscription.close()
    expect(await subscribers('lock:release:linger')).toBe(1)
    await expect.poll(() => subscribers('lock:release:linger')).toBe(0)
  })

  it(
    'connects and subscribes anew after its connection was killed, and has every waiter check again',
    inTurn,
    async ({ expect }) => {
      const subscriptions = Array.from({ length: 10 }, (_, index) => notifier.subscribe(`k${index}`, '-'))
      await Promise.all(subscriptions.map(({ ready }) => ready))
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await Promise.all(subscriptions.map((subscription) => signalled(subscription, 0)))
      expect(subscriptions.every(({ live }) => live)).toBe(true)
      await publish('lock:release:k3')
      await signalled(subscriptions[3] as (typeof subscriptions)[0], 1)
    },
  )

  it('T-13: subscriptions come back after repeated failed reconnects', inTurn, async ({ expect }) => {
    const duplicated = client()
    // Not by a spy: each test that begins beside this one forgets the calls of all spies.
    let attempts = 0
    const { duplicate } = duplicated
    Object.assign(duplicated, {
      duplicate(...options: readonly unknown[]): unknown {
        attempts++
        return Reflect.apply(duplicate, duplicated, options)
      },
    })
    const listening = ioredisNotifier(duplicated)
    open.push(() => listening.close())
    const subscription = listening.subscribe('k', '-')
    await subscription.ready
    expect(attempts).toBe(1)
    proxy.refuse()
    proxy.cut()
    await expect.poll(() => subscription.live).toBe(false)
    // Each attempt is a connection of its own; when the fifth is made, three have failed.
    await expect.poll(() => attempts).toBeGreaterThanOrEqual(5)
    await proxy.accept()
    await signalled(subscription, 0)
    expect(subscription.live).toBe(true)
    await publish('lock:release:k')
    await signalled(subscription, 1)
  })

  it('lets a waiter go on without it when it cannot connect or may not subscribe', inTurn, async ({ expect }) => {
    proxy.refuse()
    const unreachable = notifier.subscribe('k', '-')
    await unreachable.ready
    expect(unreachable.live).toBe(false)
    await proxy.accept()

    await server.command('ACL', 'SETUSER', 'restricted', 'on', '>secret', '~*', '+@all', 'resetchannels')
    const restricted = client(server.port)
    restricted.options.username = 'restricted'
    restricted.options.password = 'secret'
    const forbidden = ioredisNotifier(restricted)
    open.push(() => forbidden.close())
    const subscription = forbidden.subscribe('k', '-')
    await subscription.ready
    expect(subscription.live).toBe(false)
    await server.command('ACL', 'SETUSER', 'restricted', 'allchannels')
    const allowed = ioredisNotifier(restricted)
    open.push(() => allowed.close())
    const heard = allowed.subscribe('k', '-')
    await heard.ready
    expect(heard.live).toBe(true)
  })

  it.for(['channels', 'pattern'] as const)(
    'replaces a connection that has gone silent (%s)',
    inTurn,
    async (mode, { expect }) => {
      const impatient = client()
      // That the client gives up on an answer does not make it a refusal.
      impatient.options.commandTimeout = 300
      const listening = ioredisNotifier(impatient, { mode })
      open.push(() => listening.close())
      const causes: unknown[] = []
      listening.onStateChange((state) => state.type === 'disconnected' && causes.push(state.cause))
      const subscription = listening.subscribe('k', '-')
      await subscription.ready
      const dropped = proxy.dropNextReply('silence')
      // Rather than to wait until it is asked anyway.
      subscription.suspect('1')
      await dropped
      await expect.poll(() => causes).toHaveLength(1)
      expect(String(causes[0])).toContain('not answered for 2000 ms')
      await signalled(subscription, 0)
      expect(subscription.live).toBe(true)
      await publish('lock:release:k')
      await signalled(subscription, 1)
      expect(causes).toHaveLength(1)
    },
  )

  it('tells that the server has stalled, and hears it again as soon as that goes on', inTurn, async ({ expect }) => {
    const subscription = notifier.subscribe('k', '-')
    await subscription.ready
    const causes: unknown[] = []
    const states: string[] = []
    notifier.onStateChange((state) => {
      states.push(state.type)
      if (state.type === 'disconnected') causes.push(state.cause)
    })
    server.pause()
    try {
      subscription.suspect('1')
      await expect.poll(() => causes).toHaveLength(1)
      expect(subscription.live).toBe(false)
    } finally {
      server.resume()
    }
    await signalled(subscription, 0)
    await publish('lock:release:k')
    await signalled(subscription, 1)
    expect(states).toEqual(['disconnected', 'reconnected'])
    await expect.poll(pubsubClients).toBe(1)
  })

  it('tells why it cannot connect or may not subscribe, without a password', inTurn, async ({ expect }) => {
    const password = 'correct horse battery staple'
    await server.command('ACL', 'SETUSER', 'restricted', 'on', `>${password}`, '~*', '+@all', 'resetchannels')
    await server.command('ACL', 'SETUSER', 'locked-out', 'on', '>another', '~*', '&*', '+@all')
    async function causeFor(username: string, port: number): Promise<string> {
      const refused = create({ port })
      refused.disconnect()
      refused.on('error', () => undefined)
      Object.assign(refused.options, { username, password })
      const listening = ioredisNotifier(refused)
      open.push(() => listening.close())
      const told = new Promise<unknown>((resolve) => listening.onStateChange(resolve))
      listening.subscribe('k', '-')
      return inspect(await told, { depth: 10, showHidden: true })
    }
    const closed = await startTcpProxy({ port: server.port })
    await closed.stop()
    const causes = await Promise.all([
      causeFor('restricted', server.port),
      causeFor('locked-out', server.port),
      causeFor('restricted', closed.port),
    ])
    expect(causes[0]).toMatch(/lock:release:k.*(NOPERM|permission)/s)
    expect(causes[1]).toMatch(/WRONGPASS/)
    expect(causes[2]).toMatch(/ECONNREFUSED/)
    expect(causes.join()).not.toContain(password)
  })

  it('in pattern mode subscribes once, and takes the prefix literally', inTurn, async ({ expect }) => {
    const pattern = notify({ mode: 'pattern', prefix: 'a*[b]?:' })
    const first = pattern.subscribe('one', '-')
    const second = pattern.subscribe('two', '-')
    await Promise.all([first.ready, second.ready])
    expect(await server.command('PUBSUB', 'NUMPAT')).toBe(1)
    await publish('aXXb?:release:one')
    await publish('a*[b]?:release:one')
    await signalled(first, 0)
    expect(first.signals).toBe(1)
    expect(second.signals).toBe(0)
  })

  it('wakes a locker’s waiter long before it would check by itself', inTurn, async ({ expect }) => {
    const own = client()
    const waiting: Locker = createLocker({ store: ioredisStore(own), notifier: ioredisNotifier(own) })
    const holding = createLocker({ store: ioredisStore(client(server.port)) })
    const delays: number[] = []
    for (let round = 0; round < 20; round++) {
      // A key of its own, or the channel of the round before, which lingers, would say that this one is heard.
      const key = `wake-${round}`
      const holder = await holding.acquire(key, { ttl: '30s' })
      const acquiring = waiting.acquire(key, { recheck: '10s', wait: '20s' })
      await expect.poll(() => subscribers(`lock:release:${key}`)).toBe(1)
      const releasedAt = performance.now()
      await holder.release()
      await (await acquiring).release()
      delays.push(performance.now() - releasedAt)
    }
    delays.sort((one, other) => one - other)
    expect(delays[10]).toBeLessThan(1_000)
    expect(delays.at(-1)).toBeLessThan(8_000)
    await waiting.close()
    await holding.close()
  })
})

describe('ioredisNotifier', () => {
  const open: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
  })
  async function startServer(): Promise<RedisServer> {
    const server = await startRedis()
    open.push(() => server.stop())
    return server
  }
  function client(made: ioredis6.Redis): ioredis6.Redis {
    made.on('error', () => undefined)
    open.push(() => made.disconnect())
    return made
  }
  function notify(listening: ioredis6.Redis): ReleaseNotifier {
    const made = ioredisNotifier(listening)
    open.push(() => made.close())
    return made
  }

  it('tells that releases are missed when holders may not publish, once, though waiters check by themselves', async () => {
    const server = await startServer()
    const { port } = server
    await server.command('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', '+@all', 'resetchannels')
    const holding = createLocker({
      store: ioredisStore(client(new ioredis6.Redis({ port, username: 'mute', password: 'secret' }))),
    })
    const own = client(new ioredis6.Redis({ port }))
    const notifier = notify(own)
    const store = ioredisStore(own)
    let refusals = 0
    const acquire: LeaseStore['acquire'] = async (...call) => {
      const outcomes = await store.acquire(...call)
      refusals += Number(outcomes[0]?.type === 'held')
      return outcomes
    }
    const waiting = createLocker({ store: { ...store, acquire }, notifier })
    open.push(() => Promise.all([holding.close(), waiting.close()]))
    const causes: unknown[] = []
    notifier.onStateChange((state) => state.type === 'disconnected' && causes.push(state.cause))
    for (let round = 0, told = 0; round < 30 && told < 3; round++, told += causes.length) {
      const holder = await holding.acquire('k', { ttl: '30s' })
      refusals = 0
      const acquiring = waiting.acquire('k', { recheck: '500ms', wait: '15s' })
      // The second try follows the confirmation of the subscription.
      await expect.poll(() => refusals).toBeGreaterThanOrEqual(2)
      await holder.release()
      await (await acquiring).release()
    }
    expect(causes).toHaveLength(1)
    expect(String(causes[0])).toMatch(/missed, 2 in a row.*lock:release:k.*prefix.*publish/)
  })

  it('keeps its socket out of the async context of whoever waits first', async () => {
    const server = await startServer()
    const tenants = new AsyncLocalStorage<string>()
    const notifier = notify(client(new ioredis6.Redis({ port: server.port })))
    const subscription = tenants.run('tenant', () => notifier.subscribe('k', '-'))
    await subscription.ready
    const heardBy = new Promise((resolve) => subscription.onSignal(0, () => resolve(tenants.getStore())))
    await server.command('PUBLISH', 'lock:release:k', 'released 1')
    expect(await heardBy).toBeUndefined()
  })

  it('tells that no sentinel can be reached', async () => {
    const server = await startServer()
    await server.kill()
    const sentinels = [{ host: '127.0.0.1', port: server.port }]
    const notifier = notify(client(new ioredis6.Redis({ sentinels, name: 'primary', lazyConnect: true })))
    const told = new Promise<unknown>((resolve) => notifier.onStateChange(resolve))
    notifier.subscribe('k', '-')
    expect(String(Object(await told).cause)).toMatch(/sentinels are unreachable/)
  })
})

it('on a cluster a waiter is woken whichever node it listens to and whichever node has the key', async () => {
  await using cluster = await startRedisCluster({ nodes: 3 })
  const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }))
  const clients = [new ioredis6.Cluster(nodes), new ioredis6.Cluster(nodes)]
  const [holding, waiting] = clients.map((client) => {
    client.on('error', () => undefined)
    return createLocker({ store: ioredisStore(client), notifier: ioredisNotifier(client) })
  }) as [Locker, Locker]
  for (let key = 0; key < 9; key++) {
    const holder = await holding.acquire(`k${key}`)
    const acquiring = waiting.acquire(`k${key}`, { recheck: '20s', wait: '25s' })
    const heard = async (): Promise<boolean> => {
      const answers = await Promise.all(
        cluster.nodes.map((node) => node.command('PUBSUB', 'NUMSUB', `lock:release:k${key}`)),
      )
      return answers.some((answer) => (answer as unknown[])[1] === 1)
    }
    await expect.poll(heard).toBe(true)
    const releasedAt = performance.now()
    await holder.release()
    await (await acquiring).release()
    expect(performance.now() - releasedAt).toBeLessThan(10_000)
  }
  await Promise.all([holding.close(), waiting.close()])
  for (const client of clients) client.disconnect()
})
