import { createLocker, type Locker, type ReleaseNotifier } from '@leasehold/core'
import type { PubsubNotifierOptions } from '@leasehold/core/redis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis-5'
import * as iovalkey from 'iovalkey'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'

const clients = [
  { name: 'ioredis 6', create: (port: number) => new ioredis6.Redis({ port }) },
  { name: 'ioredis 5', create: (port: number) => new ioredis5.Redis({ port }) },
  { name: 'iovalkey', create: (port: number) => new iovalkey.Redis({ port }) },
]

describe.each(clients)('ioredisNotifier over $name', ({ create }) => {
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
    const made = create(port)
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

  it('hears the releases of a key once its subscription is ready, and of no other key', async () => {
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

  it('does no I/O before the first subscription', async () => {
    await client().ping()
    // That of this client, and of the one that the notifier was made with.
    await expect.poll(() => proxy.accepted).toBe(2)
    expect(await pubsubClients()).toBe(0)
    await notifier.subscribe('first', '-').ready
    expect([proxy.accepted, await pubsubClients()]).toEqual([3, 1])
  })

  it('uses one connection and one subscription for all waiters of a key, and ends both with close()', async () => {
    const subscriptions = Array.from({ length: 20 }, () => notifier.subscribe('shared', '-'))
    await Promise.all(subscriptions.map(({ ready }) => ready))
    expect(await subscribers('lock:release:shared')).toBe(1)
    expect(await pubsubClients()).toBe(1)
    await publish('lock:release:shared')
    await Promise.all(subscriptions.map((subscription) => signalled(subscription, 0)))
    await notifier.close()
    await expect.poll(pubsubClients).toBe(0)
    expect(subscriptions.some(({ live }) => live)).toBe(false)
  })

  it('leaves a channel a while after its last waiter has gone', async () => {
    const subscription = notifier.subscribe('linger', '-')
    await subscription.ready
    subscription.close()
    expect(await subscribers('lock:release:linger')).toBe(1)
    await expect.poll(() => subscribers('lock:release:linger')).toBe(0)
  })

  it('connects and subscribes anew after its connection was killed, and has every waiter look again', async () => {
    const subscriptions = Array.from({ length: 10 }, (_, index) => notifier.subscribe(`k${index}`, '-'))
    await Promise.all(subscriptions.map(({ ready }) => ready))
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await Promise.all(subscriptions.map((subscription) => signalled(subscription, 0)))
    expect(subscriptions.every(({ live }) => live)).toBe(true)
    await publish('lock:release:k3')
    await signalled(subscriptions[3] as (typeof subscriptions)[0], 1)
  })

  it('T-13: subscriptions come back after repeated failed reconnects', async () => {
    const duplicated = client()
    const attempts = vi.spyOn(duplicated, 'duplicate')
    const listening = ioredisNotifier(duplicated)
    open.push(() => listening.close())
    const subscription = listening.subscribe('k', '-')
    await subscription.ready
    expect(attempts).toHaveBeenCalledTimes(1)
    proxy.refuse()
    proxy.cut()
    await expect.poll(() => subscription.live).toBe(false)
    // Each attempt is a connection of its own; when the fifth is made, three have failed.
    await expect.poll(() => attempts.mock.calls.length).toBeGreaterThanOrEqual(5)
    await proxy.accept()
    await signalled(subscription, 0)
    expect(subscription.live).toBe(true)
    await publish('lock:release:k')
    await signalled(subscription, 1)
  })

  it('lets a waiter go on without it when it cannot connect or may not subscribe', async () => {
    proxy.refuse()
    const unreachable = notifier.subscribe('k', '-')
    await unreachable.ready
    expect(unreachable.live).toBe(false)
    await proxy.accept()

    await server.command('ACL', 'SETUSER', 'deaf', 'on', '>secret', '~*', '+@all', 'resetchannels')
    const deaf = client(server.port)
    deaf.options.username = 'deaf'
    deaf.options.password = 'secret'
    const forbidden = ioredisNotifier(deaf)
    open.push(() => forbidden.close())
    const subscription = forbidden.subscribe('k', '-')
    await subscription.ready
    expect(subscription.live).toBe(false)
    await server.command('ACL', 'SETUSER', 'deaf', 'allchannels')
    const allowed = ioredisNotifier(deaf)
    open.push(() => allowed.close())
    const heard = allowed.subscribe('k', '-')
    await heard.ready
    expect(heard.live).toBe(true)
  })

  it('in pattern mode subscribes once, and takes the prefix literally', async () => {
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

  it('wakes a locker’s waiter long before it would look by itself', async () => {
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
