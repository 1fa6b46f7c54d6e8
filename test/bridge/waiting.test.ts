import {
  backoff,
  createLocker,
  type Duration,
  type Locker,
  type LockerOptions,
  type WaitStrategy,
} from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type HttpServer, listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { createBridge, issueTicket } from '../../packages/bridge/src/server/index.ts'
import { bridgeToken, startTestBridge, type TestBridge } from '../../packages/bridge/test/bridge.ts'
import { type BridgeFetch, type BridgeNotifierOptions, bridgeNotifier } from '../../packages/bridge-client/src/index.ts'

/** A waiter with this strategy is woken by the notifier or not at all. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }
const token = bridgeToken
const secret = '0123456789abcdef0123456789abcdef'

describe.each(['sse', 'long-poll'] as const)('a locker that waits through a bridge, by %s', (mode) => {
  const what = mode === 'sse' ? 'streams' : 'waits'
  let bridge: TestBridge
  let keys = 0
  let key: string
  const ends: (() => unknown)[] = []

  beforeAll(async () => {
    bridge = await startTestBridge({ heartbeatMs: 1_000, auth: { tokens: [token], ticketSecrets: [secret] } })
  })
  afterAll(() => bridge[Symbol.asyncDispose]())
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
    key = ''
  })

  function locker(notifier: Partial<BridgeNotifierOptions> = {}, options: Partial<LockerOptions> = {}): Locker {
    key = `${mode}-${keys++}`
    const made = createLocker({
      store: bridge.store,
      notifier: bridgeNotifier({ url: bridge.url, token, mode, ...notifier }),
      wait: '15s',
      ...options,
    })
    ends.push(() => made.close({ grace: 1 }))
    return made
  }
  const holds = (ttl: `${number}s` = '120s') => bridge.locks.acquire(key, { ttl, renew: false })
  const opened = (): Promise<void> => bridge.opened(what, 1)
  /** Milliseconds from now until the promise settles. */
  async function timeOf(settles: Promise<unknown>): Promise<number> {
    const start = performance.now()
    await settles
    return performance.now() - start
  }

  it('does not wait for a holder whom the bridge never saw longer than its remaining time', async () => {
    const locks = locker({}, { strategy: never })
    const held = await holds()
    const before = bridge.checks()['first-waiter'] ?? 0
    const acquiring = locks.acquire(key)
    await opened()
    await expect.poll(() => bridge.checks()['first-waiter']).toBe(before + 1)
    // The woken waiter finds another holder, which is silently gone before the bridge checks.
    await bridge.server.command(
      'EVAL',
      `redis.call('SET', KEYS[1], 'rival.1', 'PX', 300) redis.call('PUBLISH', ARGV[1], 'released 1')`,
      1,
      `lock:${key}`,
      `lock:release:${key}`,
    )
    const tookMs = await timeOf(acquiring)
    expect(tookMs).toBeLessThan(10_000)
    await (await acquiring).release()
    await held.release()
  })

  it('is woken by a release, with two script calls however long the wait', async () => {
    const locks = locker({}, { strategy: never })
    for (const waitMs of [100, 1_000]) {
      const held = await holds()
      const before = bridge.checks()
      const acquiring = locks.acquire(key)
      await opened()
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      const releasing = held.release()
      const tookMs = await timeOf(acquiring)
      const lease = await acquiring
      await releasing
      const checks = Object.values(bridge.checks()).reduce((sum, count) => sum + count, 0)
      const checked = checks - Object.values(before).reduce((sum, count) => sum + count, 0)
      console.log(
        `${mode}: wait of ${waitMs} ms, ${lease.commands} calls by the client, ${checked} checks by the bridge, ` +
          `woken in ${tookMs.toFixed(1)} ms`,
      )
      expect(lease.commands).toBe(2)
      expect(await lease.release()).toBe('released')
      await bridge.opened(what, 0)
    }
  })

  it('is woken where its store is reached over HTTP, too', async () => {
    const redis = ioredisGateway(`redis://127.0.0.1:${bridge.server.port}`, { unansweredMs: 5_000 })
    const gateway = await listen(createGateway({ redis, tokens: [token] }), { host: '127.0.0.1', port: 0 })
    ends.push(async () => {
      await gateway.close(0)
      redis.close()
    })
    const locks = locker({}, { store: fetchStore({ url: gateway.url, token }), strategy: never })
    const held = await holds()
    const acquiring = locks.acquire(key)
    await opened()
    await held.release()
    expect((await acquiring).commands).toBe(2)
  })

  it('is woken when the lock is revoked, and when its holder has died', async () => {
    const locks = locker({}, { strategy: never })
    await holds()
    const acquiring = locks.acquire(key)
    await opened()
    await bridge.locks.revoke(key)
    expect((await (await acquiring).release()) && (await acquiring).commands).toBe(2)
    await bridge.opened(what, 0)
    await holds('2s')
    expect((await locks.acquire(key)).commands).toBe(2)
  })

  it('goes on by its strategy when there is no bridge, and is woken again when there is one', async () => {
    let checksByItself = true
    const own = backoff()
    const strategy: WaitStrategy = { delayMs: (...pause) => (checksByItself ? own : never).delayMs(...pause) }
    let tries = 0
    const store: LeaseStore = {
      ...bridge.store,
      acquire(...given) {
        tries++
        return bridge.store.acquire(...given)
      },
    }
    const locks = locker({}, { strategy, store })
    const held = await holds()
    const acquiring = locks.acquire(key)
    await opened()
    bridge.clients.refuse()
    bridge.clients.cut()
    await expect.poll(() => tries, { timeout: 10_000 }).toBeGreaterThan(3)
    await held.release()
    expect(await timeOf(acquiring)).toBeLessThan(5_000)
    const lease = await acquiring
    expect(lease.commands).toBeGreaterThan(3)
    expect(lease.commands).toBeLessThan(20)

    const next = locks.acquire(key)
    await lease.release()
    await (await next).release()
    await bridge.clients.accept()
    // The client pauses for at most 5 s before it finds that out.
    const found = await holds()
    const finding = locks.acquire(key)
    await opened()
    await found.release()
    await (await finding).release()
    await bridge.opened(what, 0)
    const again = await holds()
    checksByItself = false
    const woken = locks.acquire(key)
    await opened()
    await again.release()
    expect((await woken).commands).toBe(2)
  })

  it('closes its connection at once when its wait is aborted or over', async () => {
    const locks = locker()
    await holds()
    const controller = new AbortController()
    const acquiring = locks.acquire(key, { signal: controller.signal })
    const settled = acquiring.catch((error: unknown) => error)
    await opened()
    const reason = new Error('no more')
    controller.abort(reason)
    expect(await settled).toBe(reason)
    expect(await timeOf(bridge.opened(what, 0))).toBeLessThan(5_000)

    const timingOut = locks.acquire(key, { wait: '2s' }).catch(({ code }) => code)
    await opened()
    expect(await timingOut).toBe('ACQUIRE_TIMEOUT')
    expect(await timeOf(bridge.opened(what, 0))).toBeLessThan(5_000)
  })

  it('does not listen to a bridge of another prefix, and is told of it', async () => {
    await using wrong = await startTestBridge({ lockPrefix: 'other:' })
    const refusals: unknown[] = []
    const events: unknown[] = []
    const notifier = bridgeNotifier({
      url: wrong.url,
      token,
      mode,
      prefix: 'other:',
      onError: ({ reason, status }) => refusals.push([reason, status]),
    })
    const locks = createLocker({ store: wrong.store, notifier, onEvent: ({ type }) => events.push(type) })
    const held = await wrong.locks.acquire('k', { ttl: '120s' })
    const acquiring = locks.acquire('k', { wait: '30s' })
    await expect.poll(() => refusals.length, { timeout: 10_000 }).toBe(1)
    await wrong.opened(what, 0)
    await held.release()
    const lease = await acquiring
    expect(lease.waitedMs).toBeLessThan(15_000)
    expect([refusals, events.filter((type) => type === 'disconnected').length]).toEqual([[['prefix', 200]], 1])
    expect(wrong.events.filter(({ type }) => type === what)).toHaveLength(2)
    await locks.close({ grace: 1 })
  })

  it('goes on with a new ticket when its own has ended, without a needless try', async () => {
    const lives: Duration[] = ['1s', '1h']
    const ticketOf = vi.fn(() => issueTicket(secret, { patterns: ['*'], expiresInMs: lives.shift() ?? '1h' }))
    const onError = vi.fn()
    const locks = locker({ token: ticketOf, onError }, { strategy: never })
    const held = await holds()
    const acquiring = locks.acquire(key)
    await expect.poll(() => ticketOf.mock.calls.length, { timeout: 10_000 }).toBe(2)
    await opened()
    await held.release()
    expect((await acquiring).commands).toBe(2)
    expect([ticketOf.mock.calls.length, onError.mock.calls.length]).toEqual([2, 0])
  })

  it('is woken although another waits for a key that the ticket is not for', async () => {
    const ticket = await issueTicket(secret, { patterns: [`${mode}-*`], expiresInMs: '1h' })
    const onError = vi.fn()
    const locks = locker({ token: ticket, onError }, { strategy: never })
    await bridge.locks.acquire('other', { ttl: '120s', renew: false })
    const held = await holds()
    const controller = new AbortController()
    const other = locks.acquire('other', { signal: controller.signal }).catch((error: unknown) => error)
    const acquiring = locks.acquire(key)
    await opened()
    await held.release()
    expect((await acquiring).commands).toBe(2)
    expect(onError).toHaveBeenCalledTimes(1)
    controller.abort()
    await other
    await bridge.locks.revoke('other')
  })

  describe('when its bridge is killed and another is started in the middle of a wait', () => {
    let redis: Redis
    let http: HttpServer
    let url: string
    beforeAll(async () => {
      redis = new Redis(bridge.server.port).on('error', () => undefined)
      http = await listen(app(), { host: '127.0.0.1', port: 0 })
      url = http.url
    })
    afterAll(async () => {
      await http.close(0)
      redis.disconnect()
    })
    let begun = (): void => undefined
    const app = () =>
      createBridge({
        store: ioredisStore(redis),
        subscriber: ioredisSubscriber(redis),
        auth: { tokens: [token] },
        onEvent: ({ type }) => type === what && begun(),
      })
    /** Resolves when the next of its connections has begun, or ended. */
    const nextChange = (): Promise<void> =>
      new Promise((resolve) => {
        begun = resolve
      })

    it.each(['while there was none', 'after it had come back'])('hears of a release %s', async (when) => {
      let failures = 0
      const counted: BridgeFetch = (...request) =>
        fetch(...request).catch((error: unknown) => {
          failures++
          throw error
        })
      const locks = locker({ url, fetch: counted }, { strategy: never })
      const held = await holds()
      const waits = nextChange()
      const acquiring = locks.acquire(key)
      await waits
      await http.close(0)
      if (when === 'while there was none') await held.release()
      // The client has asked, and there is no bridge.
      await expect.poll(() => failures, { timeout: 10_000 }).toBeGreaterThan(0)
      const waitsAgain = nextChange()
      http = await listen(app(), { host: '127.0.0.1', port: Number(new URL(url).port) })
      // A waiter that is told twice that there is no bridge checks by itself, and may already have the lock.
      await Promise.race([waitsAgain, acquiring])
      await held.release()
      expect((await acquiring).waitedMs).toBeLessThan(12_000)
    })
  })
})
