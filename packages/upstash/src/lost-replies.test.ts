import { createLocker, type Extension, type Locker, type LockerEvent } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { type Ending, type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis } from '@upstash/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { upstashStore } from './upstash-store.ts'

/*
 * T-41: the server carries a request out, and its reply never arrives: the connection is cut, or stays open and silent.
 */

/** An attempt must be answered within a sixth of the ttl before it is retried: time enough on a busy machine. */
const ttl = 3_000
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const stored = (key: string): Promise<unknown> => gateway.redis.command('GET', `lock:${key}`)
const leftMs = (key: string): Promise<unknown> => gateway.redis.command('PTTL', `lock:${key}`)

it('a client’s own retry meets the lock it has just taken as "busy"', async () => {
  await using proxy = await startHttpProxy({ target: gateway.url })
  const naive = new Redis({ url: proxy.url, token: gateway.token })
  const dropped = proxy.dropNextReply('cut')
  expect(await naive.set('lock:naive', 'me', { nx: true, px: 10_000 })).toBeNull()
  await dropped
  expect(await stored('naive')).toBe('me')
})

type Endpoint = { url: string; token: string }
const cases: [string, Ending, (endpoint: Endpoint) => LeaseStore][] = (['cut', 'silence'] as const).flatMap(
  (ending) => [
    ['fetchStore', ending, (endpoint) => fetchStore(endpoint)],
    ['upstashStore', ending, (endpoint) => upstashStore(new Redis(endpoint))],
  ],
)

describe.each(cases)('%s, a reply is lost by %s', (name, ending, makeStore) => {
  let proxy: HttpProxy
  let locks: Locker
  let others: Locker
  const events: LockerEvent[] = []
  const key = (what: string): string => `${name}-${ending}-${what}`
  const lose = (): Promise<void> => proxy.dropNextReply(ending)

  beforeAll(async () => {
    proxy = await startHttpProxy({ target: gateway.url })
    const { token } = gateway
    const store = makeStore({ url: proxy.url, token })
    locks = createLocker({ store, name: 'a', onEvent: (event) => events.push(event) })
    others = createLocker({ store: fetchStore({ url: gateway.url, token }) })
    // Makes every script known to the server, so that the next reply is that of the request itself.
    const lease = await locks.acquire('warm')
    await lease.renew({ ttl: '10s' })
    await lease.release()
  })
  afterAll(() => proxy.stop())

  it('acquire: granted, with one token and one fence', async () => {
    const lost = lose()
    const lease = await locks.acquire(key('acquire'), { ttl, renew: false, wait: '5s' })
    await lost
    expect(await stored(key('acquire'))).toBe(lease.token)
    expect(await others.inspect(key('acquire'))).toMatchObject({ holder: 'a', fence: lease.fence })
    expect(await lease.release()).toBe('released')
    expect(await stored(key('acquire'))).toBeNull()
  })

  it('tryAcquire: granted, never "busy" because of itself', async () => {
    const lost = lose()
    const lease = await locks.tryAcquire(key('try'), { ttl, renew: false })
    await lost
    expect(await stored(key('try'))).toBe(lease?.token)
    expect(await lease?.release()).toBe('released')
  })

  it('renewals of the watchdog: repeated, and no lease is lost', async () => {
    const lease = await locks.acquire(key('watchdog'), { ttl })
    for (let round = 0; round < 3; round++) await lose()
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBeGreaterThan(0)
    expect(await stored(key('watchdog'))).toBe(lease.token)
    expect(await lease.release()).toBe('released')
    expect(events.filter(({ type }) => type === 'lost')).toEqual([])
  })

  it('extend: extended once, by "ttl" and by "by"', async () => {
    const lease = await locks.acquire(key('extend'), { ttl, renew: false })
    for (const extension of [{ ttl: '4s' }, { by: '3s' }] satisfies Extension[]) {
      const lost = lose()
      await lease.renew(extension)
      await lost
    }
    expect(lease.signal.aborted).toBe(false)
    // If `by` had not been applied, at most 4 s would be left; if applied twice, more than 7 s.
    expect(lease.remaining()).toBeGreaterThan(4_500)
    expect(await leftMs(key('extend'))).toBeGreaterThan(lease.remaining())
    expect(await leftMs(key('extend'))).toBeLessThanOrEqual(7_000)
    expect(await lease.release()).toBe('released')
  })

  it('release: "released", and whoever waits gets it', async () => {
    const lease = await locks.acquire(key('release'), { ttl: '10s', renew: false })
    const waiting = others.acquire(key('release'), { wait: '5s', strategy: { delayMs: () => 5 } })
    const lost = lose()
    expect(await lease.release()).toBe('released')
    await lost
    const next = await waiting
    expect(await stored(key('release'))).toBe(next.token)
    expect(await next.release()).toBe('released')
  })
})
