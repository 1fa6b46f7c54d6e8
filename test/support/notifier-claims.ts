import { inspect } from 'node:util'
import { createLocker } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions } from '@leasehold/core/redis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { User } from './ways.ts'

/** A client library that keeps connections, and the adapter for it. */
export interface NotifierParts<Client extends object> {
  /** A client for a port of 127.0.0.1, with a listener for its errors. It may connect at once. */
  create(port: number, user?: User): Client
  /**
   * A client that gives up on answers by itself, if the library has that. This does not turn silence into a refusal.
   */
  impatient?(port: number): Client
  /** Resolves when it is connected. */
  connect(client: Client): Promise<unknown>
  close(client: Client): unknown
  notifier(client: Client, options?: PubsubNotifierOptions): ReleaseNotifier
  store(client: Client): LeaseStore
}

/**
 * What the notifier of each such adapter guarantees.
 *
 * @param thorough false leaves out claims that take long and concern what adapters share
 */
export function notifierClaims<Client extends object>(over: NotifierParts<Client>, thorough = true): void {
  let server: RedisServer
  let proxy: TcpProxy
  const open: (() => unknown)[] = []

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    proxy = await startTcpProxy({ port: server.port })
  })
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
    await proxy.stop()
    // So that no other claim counts them.
    await expect.poll(pubsubClients).toBe(0)
  })

  function client(port = proxy.port, user?: User): Client {
    const made = over.create(port, user)
    open.push(() => over.close(made))
    return made
  }
  function notify(options?: PubsubNotifierOptions, like: Client = client()): ReleaseNotifier {
    const made = over.notifier(like, options)
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
    const notifier = notify()
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
    const connected = client()
    await over.connect(connected)
    const listening = notify({}, connected)
    expect([proxy.accepted, await pubsubClients()]).toEqual([1, 0])
    await listening.subscribe('first', '-').ready
    expect([proxy.accepted, await pubsubClients()]).toEqual([2, 1])
  })

  it('uses one connection and one subscription for all waiters of a key, and ends both with close()', async () => {
    const notifier = notify()
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

  it('connects and subscribes anew after its connection was killed, and has every waiter check again', async () => {
    const notifier = notify()
    const subscriptions = Array.from({ length: 10 }, (_, index) => notifier.subscribe(`k${index}`, '-'))
    await Promise.all(subscriptions.map(({ ready }) => ready))
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await Promise.all(subscriptions.map((subscription) => signalled(subscription, 0)))
    expect(subscriptions.every(({ live }) => live)).toBe(true)
    await publish('lock:release:k3')
    await signalled(subscriptions[3] as (typeof subscriptions)[0], 1)
  })

  it('lets a waiter go on without it when it cannot connect or may not subscribe', async () => {
    proxy.refuse()
    const notifier = notify()
    const unreachable = notifier.subscribe('k', '-')
    await unreachable.ready
    expect(unreachable.live).toBe(false)
    await proxy.accept()

    await server.command('ACL', 'SETUSER', 'restricted', 'on', '>secret', '~*', '+@all', 'resetchannels')
    const restricted = client(server.port, { username: 'restricted', password: 'secret' })
    const forbidden = notify({}, restricted)
    const subscription = forbidden.subscribe('k', '-')
    await subscription.ready
    expect(subscription.live).toBe(false)
    await server.command('ACL', 'SETUSER', 'restricted', 'allchannels')
    const allowed = notify({}, restricted)
    const heard = allowed.subscribe('k', '-')
    await heard.ready
    expect(heard.live).toBe(true)
  })

  it.each(thorough ? (['channels', 'pattern'] as const) : (['channels'] as const))(
    'replaces a connection that has gone silent (%s)',
    async (mode) => {
      const impatient = (over.impatient ?? over.create)(proxy.port)
      open.push(() => over.close(impatient))
      // Otherwise the reply that is dropped may be one to the client itself, which is still connecting.
      await over.connect(impatient)
      const listening = notify({ mode }, impatient)
      const causes: unknown[] = []
      listening.onStateChange((state) => state.type === 'disconnected' && causes.push(state.cause))
      const subscription = listening.subscribe('k', '-')
      await subscription.ready
      const dropped = proxy.dropNextReply('silence')
      // Instead of waiting until it is asked anyway.
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

  it('tells why it cannot connect or may not subscribe, without a password', async () => {
    const password = 'correct horse battery staple'
    await server.command('ACL', 'SETUSER', 'restricted', 'on', `>${password}`, '~*', '+@all', 'resetchannels')
    await server.command('ACL', 'SETUSER', 'locked-out', 'on', '>another', '~*', '&*', '+@all')
    async function causeFor(username: string, port: number): Promise<string> {
      const listening = notify({}, client(port, { username, password }))
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

  if (!thorough) return

  it('leaves a channel a while after its last waiter has gone', async () => {
    const notifier = notify()
    const subscription = notifier.subscribe('linger', '-')
    await subscription.ready
    subscription.close()
    expect(await subscribers('lock:release:linger')).toBe(1)
    await expect.poll(() => subscribers('lock:release:linger')).toBe(0)
  })

  it('T-13: subscriptions come back after repeated failed reconnects', async () => {
    const duplicated = client()
    const attempts = vi.spyOn(duplicated as { duplicate(): unknown }, 'duplicate')
    const listening = notify({}, duplicated)
    const subscription = listening.subscribe('k', '-')
    await subscription.ready
    expect(attempts).toHaveBeenCalledTimes(1)
    proxy.refuse()
    proxy.cut()
    await expect.poll(() => subscription.live).toBe(false)
    // Each attempt is a separate connection; when the fifth is made, three have failed.
    await expect.poll(() => attempts.mock.calls.length).toBeGreaterThanOrEqual(5)
    await proxy.accept()
    await signalled(subscription, 0)
    expect(subscription.live).toBe(true)
    await publish('lock:release:k')
    await signalled(subscription, 1)
  })

  it('tells that the server has stalled, and hears it again as soon as that goes on', async () => {
    const notifier = notify()
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

  it('wakes a locker’s waiter long before it would check by itself', async () => {
    const own = client()
    const other = client(server.port)
    await Promise.all([own, other].map(over.connect))
    const waiting = createLocker({ store: over.store(own), notifier: over.notifier(own) })
    const holding = createLocker({ store: over.store(other) })
    const delays: number[] = []
    for (let round = 0; round < 20; round++) {
      // A key per round: otherwise the lingering channel of the previous round would say that this one is heard.
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
}
