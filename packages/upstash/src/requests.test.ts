import { createLocker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis } from '@upstash/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { upstashStore } from './upstash-store.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

type Endpoint = { url: string; token: string }
const stores: [string, (endpoint: Endpoint) => LeaseStore][] = [
  ['fetchStore', (endpoint) => fetchStore(endpoint)],
  ['upstashStore', (endpoint) => upstashStore(new Redis(endpoint))],
]

describe.each(stores)('%s', (name, makeStore) => {
  let proxy: HttpProxy
  let store: LeaseStore
  beforeAll(async () => {
    proxy = await startHttpProxy({ target: gateway.url })
    store = makeStore({ url: proxy.url, token: gateway.token })
    // Makes every script known to the server, so that a call is one request from here on.
    await createLocker({ store }).withLock('warm', async (lease) => lease.renew({ ttl: '10s' }))
  })
  afterAll(() => proxy.stop())

  const stored = (key: string): Promise<unknown> => gateway.redis.command('GET', `lock:${key}`)
  const sent = (): number => Number(proxy.forwarded['/'])

  it('needs one request for an uncontended acquire, and one for its release', async () => {
    const locks = createLocker({ store })
    const before = sent()
    const lease = await locks.acquire(`${name}-one`)
    expect(sent()).toBe(before + 1)
    expect(await lease.release()).toBe('released')
    expect(sent()).toBe(before + 2)
    expect(proxy.requests).toEqual({ '/': before + 2 })
  })

  it('a release that overtook the acquire it undoes is sent again, and nothing stays held', async () => {
    const ttl = 4_500
    const deadlineMs = ttl / 3
    const key = `${name}-overtaken`
    const before = sent()
    const overtaken = proxy.reorderNext()
    const startedAt = performance.now()
    const error = await createLocker({ store })
      .acquire(key, { ttl, wait: 100 })
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    await overtaken
    // The release found nothing, and the acquire was carried out after it: the lock is held, but by nobody.
    expect(await stored(key)).toMatch(/^[0-9a-f]{32}\.\d+$/)
    await expect.poll(() => stored(key), { interval: 20, timeout: ttl }).toBeNull()
    // Freed not by its expiry, but by the second release, a command deadline after the first.
    const tookMs = performance.now() - startedAt
    expect(tookMs).toBeGreaterThan(deadlineMs)
    expect(tookMs).toBeLessThan(ttl)
    expect(sent()).toBe(before + 3)
  })

  it('a duplicated request changes nothing, whichever of its replies arrives', async () => {
    const locks = createLocker({ store, name: 'a' })
    for (const reply of ['first', 'last'] as const) {
      const acquired = proxy.duplicateNext(reply)
      const lease = await locks.acquire(`${name}-${reply}`, { renew: false })
      await acquired
      expect(await stored(`${name}-${reply}`)).toBe(lease.token)
      const renewed = proxy.duplicateNext(reply)
      await lease.renew({ by: '30s' })
      await renewed
      expect(lease.remaining()).toBeGreaterThan(30_000)
      expect(lease.remaining()).toBeLessThanOrEqual(40_000)
      const released = proxy.duplicateNext('first')
      expect(await lease.release()).toBe('released')
      await released
      expect(await stored(`${name}-${reply}`)).toBeNull()
    }
  })

  it('turned away for asking too often, asks again within its time', async () => {
    const locks = createLocker({ store })
    for (let times = 0; times < 3; times++) proxy.answerNext({ status: 429, body: '{"error":"too many"}' })
    await (await locks.acquire(`${name}-limited`)).release()
    proxy.answer({ status: 429 })
    await expect(locks.tryAcquire(`${name}-limited`, { ttl: 300 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.restore()
    expect(await stored(`${name}-limited`)).toBeNull()
  })

  it('says at once that access is refused, without the token', async () => {
    const token = 'not-the-token-0123456789'
    const locks = createLocker({ store: makeStore({ url: gateway.url, token }) })
    const error = await locks.acquire(`${name}-refused`, { wait: '20s' }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      executed: 'no',
      cause: { message: expect.stringContaining('HTTP 401') },
    })
    expect(String((error as Error).cause)).not.toContain(token)
  })
})
