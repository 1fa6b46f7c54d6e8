import { AsyncLocalStorage } from 'node:async_hooks'
import { createLocker, type Locker } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import { type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import * as ioredis6 from 'ioredis'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { notifierClaims } from '../../../test/support/notifier-claims.ts'
import { type ClientOptions, clients } from '../test/clients.ts'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'
import { ioredisSubscriber } from './ioredis-subscriber.ts'

describe.each(clients)('ioredisNotifier over $name', ({ create }) => {
  const watched = (options: ClientOptions): ReturnType<typeof create> => {
    const client = create(options)
    client.on('error', () => undefined)
    return client
  }
  notifierClaims<ReturnType<typeof create>>({
    create: (port, user) => watched({ port, ...user }),
    impatient: (port) => watched({ port, commandTimeout: 300 }),
    connect: (client) => client.ping(),
    close: (client) => client.disconnect(),
    notifier: ioredisNotifier,
    store: ioredisStore,
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

  it('sets no timer when it closes a listening connection that has ended', async () => {
    const server = await startServer()
    const lost = Promise.withResolvers<void>()
    const subscriber = ioredisSubscriber(client(new ioredis6.Redis({ port: server.port })))
    const listener = { message: () => undefined, lost: () => lost.resolve() }
    const listening = await subscriber.connect(listener, new AbortController().signal)
    await server.kill()
    await lost.promise
    const timers = vi.spyOn(globalThis, 'setTimeout')
    onTestFinished(() => timers.mockRestore())
    listening.close()
    expect(timers).not.toHaveBeenCalled()
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
