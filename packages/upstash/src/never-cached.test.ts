import { createLocker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { Redis } from '@upstash/redis'
import { Redis as CloudflareRedis } from '@upstash/redis/cloudflare'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { upstashStore } from './upstash-store.ts'

/** The host's fetch under a cache that stores every answer whose request does not forbid it, as some frameworks do. */
function cachingFetch(): typeof fetch {
  const network = globalThis.fetch
  const stored = new Map<string, Response>()
  return async (input, init = {}) => {
    const header = new Headers(init.headers).get('cache-control') ?? ''
    if (init.cache === 'no-store' || /\bno-store\b/.test(header)) return network(input, init)
    const name = `${init.method} ${String(input)} ${String(init.body)}`
    const answer = stored.get(name) ?? (await network(input, init))
    stored.set(name, answer)
    return answer.clone()
  }
}

let gateway: TestGateway
let proxy: HttpProxy
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  proxy = await startHttpProxy({ target: gateway.url })
  vi.stubGlobal('fetch', cachingFetch())
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await proxy.stop()
})

const endpoint = (): { url: string; token: string } => ({ url: proxy.url, token: gateway.token })

describe('T-40: a cache around fetch', () => {
  it('serves a client that does not forbid it the answer of before', async () => {
    const naive = new CloudflareRedis(endpoint())
    await gateway.redis.command('SET', 'status', 'held')
    expect(await naive.get('status')).toBe('held')
    await gateway.redis.command('SET', 'status', 'free')
    expect(await naive.get('status')).toBe('held')
  })

  it.each([
    ['fetchStore', () => fetchStore(endpoint())],
    ['fetchStore with that fetch given', () => fetchStore({ ...endpoint(), fetch: cachingFetch() })],
    ['upstashStore', () => upstashStore(new Redis(endpoint()))],
    ['upstashStore of a client that does not forbid it', () => upstashStore(new CloudflareRedis(endpoint()))],
  ] satisfies [string, () => LeaseStore][])('never serves a call of %s', async (_, store) => {
    const [first, second] = [createLocker({ store: store() }), createLocker({ store: store() })]
    // Makes every script known to the server, so that a call is one request from here on.
    await (await first.acquire('order')).release()
    await first.isLocked('order')
    const before = Number(proxy.requests['/'])

    for (let round = 1; round <= 20; round++) {
      const statuses: unknown[] = []
      for (const locks of [first, second]) {
        const lease = await locks.acquire('order', { renew: false })
        statuses.push(await second.isLocked('order'), await second.tryAcquire('order', { renew: false }))
        statuses.push(await lease.release(), await second.isLocked('order'))
      }
      expect(statuses).toEqual([true, null, 'released', false, true, null, 'released', false])
      expect(Number(proxy.requests['/']) - before).toBe(round * 10)
      expect(proxy.forwarded).toEqual(proxy.requests)
    }
    const arrived = proxy.nextRequest()
    await first.isLocked('order')
    expect((await arrived).headers['cache-control']).toBe('no-store')
  })
})
