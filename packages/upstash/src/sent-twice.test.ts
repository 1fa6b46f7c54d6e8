import { createLocker, type LeaseStore, type Locker, type LockerEvent } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis } from '@upstash/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test-gateway.ts'
import { fetchStore } from './fetch-store.ts'
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
  /** The next requests, so many of them. */
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
    // Every script is known to the server, so that a request is one command.
    const lease = await locks.acquire('warm')
    await lease.renew({ ttl: '10s' })
    await lease.release()
    await locks.acquire('warm')
    await locks.revoke('warm')
  })
  afterAll(() => proxy.stop())

  it('an acquire and a release: withLock gives the result of its work', async () => {
    const sent = twice(2)
    expect(await locks.withLock(key('with'), () => 'done', { ttl: '30s', renew: false })).toBe('done')
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
    const working = locks.withLock(
      key('lost'),
      async () => {
        expect(await others.revoke(key('lost'))).toBe(true)
        sent = twice()
        return 'done'
      },
      { ttl: '30s', renew: false },
    )
    await expect(working).rejects.toMatchObject({ code: 'LEASE_LOST', cause: 'gone', result: 'done' })
    await sent
  })
})
