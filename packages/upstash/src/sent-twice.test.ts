import { createLocker, type Locker, type LockerEvent } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { guardedDelete, guardedSet } from '@leasehold/core/fencing'
import type { RedisTransport } from '@leasehold/core/redis'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { fetchTransport } from './fetch-transport.ts'
import { upstashStore } from './upstash-store.ts'

/*
 * T-79: a runtime's own `fetch`, or a proxy, sends a POST a second time when a kept-alive connection is reset before the
 * reply. The server has carried the first out, and the caller gets the answer to the second.
 */

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const stores: [string, (endpoint: { url: string; token: string }) => LeaseStore][] = [
  ['fetchStore', (endpoint) => fetchStore(endpoint)],
  ['upstashStore', (endpoint) => upstashStore(new Redis(endpoint))],
]

describe.each(stores)('T-79: over %s, requests that are sent twice', (name, makeStore) => {
  let proxy: HttpProxy
  let locks: Locker
  let others: Locker
  const events: LockerEvent[] = []
  const key = (what: string): string => `${name}-${what}`
  /** Duplicates the next `count` requests. */
  const twice = (count = 1): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => proxy.duplicateNext('last')))

  beforeAll(async () => {
    proxy = await startHttpProxy({ target: gateway.url })
    const { token } = gateway
    locks = createLocker({
      store: makeStore({ url: proxy.url, token }),
      name: 'a',
      onEvent: (event) => events.push(event),
    })
    others = createLocker({ store: fetchStore({ url: gateway.url, token }) })
    // Makes every script known to the server, so that a request is one command.
    const lease = await locks.acquire('warm')
    await lease.renew({ ttl: '10s' })
    await lease.release()
    await locks.acquire('warm')
    await locks.revoke('warm')
  })
  afterAll(() => proxy.stop())

  it('an acquire and a release: withLock gives the result of its work', async () => {
    const sent = twice(2)
    expect(await locks.withLock(key('with'), { ttl: '30s', renew: false }, () => 'done')).toBe('done')
    await sent
    expect(await others.isLocked(key('with'))).toBe(false)
    expect(events.at(-1)).toMatchObject({ type: 'released', outcome: 'released' })
  })

  it('a renewal: extended, and no loss', async () => {
    const lease = await locks.acquire(key('renew'), { ttl: '10s', renew: false })
    const sent = twice()
    await lease.renew({ ttl: '30s' })
    await sent
    expect(lease.remaining()).toBeGreaterThan(10_000)
    expect(await lease.release()).toBe('released')
  })

  it('a revocation: it took the lock away, and its holder learns of it', async () => {
    const lease = await others.acquire(key('revoke'), { ttl: '30s', renew: false })
    const sent = twice(2)
    expect(await locks.revoke(key('revoke'))).toBe(true)
    await sent
    expect(await lease.release()).toBe('expired')
  })

  it('a release after a revocation: still a loss', async () => {
    let sent: Promise<unknown> | undefined
    const working = locks.withLock(key('lost'), { ttl: '30s', renew: false }, async () => {
      expect(await others.revoke(key('lost'))).toBe(true)
      sent = twice()
      return 'done'
    })
    await expect(working).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 'done' })
    await sent
  })

  describe('all of them', () => {
    const guarded = (): RedisTransport => fetchTransport({ url: proxy.url, token: gateway.token })
    beforeEach(() => proxy.duplicate('last'))
    afterEach(() => proxy.restore())

    it('a whole life of a lock: taken, kept from others, renewed, extended, passed on and given back', async () => {
      const copies = proxy.forwarded['/'] ?? 0
      const arrived = proxy.requests['/'] ?? 0
      const lease = await locks.acquire(key('life'), { ttl: '6s' })
      expect(await others.tryAcquire(key('life'))).toBeNull()
      expect(await locks.tryAcquire(key('life'))).toBeNull()
      // The scheduled renewal comes after one to two seconds.
      await expect.poll(() => lease.remaining(), { interval: 1, timeout: 20_000 }).toBeLessThan(5_000)
      await expect.poll(() => lease.remaining(), { interval: 1, timeout: 20_000 }).toBeGreaterThan(5_000)
      await lease.renew({ by: '30s' })
      expect(lease.remaining()).toBeGreaterThan(30_000)
      expect(lease.remaining()).toBeLessThanOrEqual(36_000)
      const waiting = others.acquire(key('life'), { wait: '30s' })
      expect(await lease.release()).toBe('released')
      const next = await waiting
      expect(next.fence).toBeGreaterThan(lease.fence as number)
      expect([lease.signal.aborted, await next.release()]).toEqual([false, 'released'])
      expect((proxy.forwarded['/'] ?? 0) - copies).toBe(2 * ((proxy.requests['/'] ?? 0) - arrived))
    })

    it('withLock gives the result of its work, time after time, and nobody is told of a loss', async () => {
      events.length = 0
      for (let round = 0; round < 10; round++) {
        expect(await locks.withLock(key('rounds'), { renew: false }, () => round)).toBe(round)
      }
      expect(events.filter(({ type }) => type === 'lost')).toEqual([])
      const endings = events.flatMap((event) => (event.type === 'released' ? [event.outcome] : []))
      expect(endings).toEqual(Array(10).fill('released'))
    })

    it('guarded writes: stored once by each, and a late holder is refused', async () => {
      const [first, second] = [
        await locks.withLock(key('guard'), ({ fence }) => fence),
        await locks.withLock(key('guard'), ({ fence }) => fence),
      ]
      expect(await guardedSet(guarded(), key('data'), 'first', { fence: first })).toEqual({ stored: true })
      expect(await guardedSet(guarded(), key('data'), 'second', { fence: second })).toEqual({ stored: true })
      const refused = { highest: second }
      expect(await guardedSet(guarded(), key('data'), 'late', { fence: first })).toEqual({ stored: false, ...refused })
      expect(await guardedDelete(guarded(), key('data'), { fence: first })).toEqual({ deleted: false, ...refused })
      expect(await gateway.redis.command('GET', key('data'))).toBe('second')
      expect(await guardedDelete(guarded(), key('data'), { fence: second })).toEqual({ deleted: true })
      expect(await gateway.redis.command('GET', key('data'))).toBeNull()
    })

    it.each([false, true])('a revocation just before the release is still a loss; retaken: %s', async (retaken) => {
      const name = key(`revoked-${retaken}`)
      const working = locks.withLock(name, { ttl: '30s', renew: false }, async () => {
        expect(await others.revoke(name)).toBe(true)
        if (retaken) await others.acquire(name, { wait: 0, ttl: '30s', renew: false })
        return 'done'
      })
      await expect(working).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 'done' })
      expect(await others.isLocked(name)).toBe(retaken)
    })

    it('a revocation that is sent twice itself: its holder learns of it, and whoever comes next keeps the lock', async () => {
      const lease = await others.acquire(key('twice'), { ttl: '30s', renew: false })
      expect(await locks.revoke(key('twice'))).toBe(true)
      const next = await others.acquire(key('twice'), { ttl: '30s', renew: false })
      expect(await lease.release()).toBe('expired')
      expect(await others.inspect(key('twice'))).toMatchObject({ held: true, fence: next.fence })
      expect(await next.release()).toBe('released')
      expect(await locks.revoke(key('twice'))).toBe(false)
    })
  })
})
