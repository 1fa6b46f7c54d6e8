import { createLocker, type LockerEvent } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestGateway, type TestGateway } from '../test/gateway.ts'
import { fetchStore } from './fetch-store.ts'
import { fetchTransport } from './fetch-transport.ts'
import type { FetchAnswer } from './rest-endpoint.ts'

let gateway: TestGateway
let proxy: HttpProxy
beforeAll(async () => {
  gateway = await startTestGateway()
  // Makes every script known to the server, so that a call is one request from here on.
  await createLocker({ store: fetchStore({ url: gateway.url, token: gateway.token }) }).withLock('warm', (lease) =>
    lease.renew({ ttl: '10s' }),
  )
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  proxy = await startHttpProxy({ target: gateway.url })
})
afterEach(() => proxy.stop())

const endpoint = () => ({ url: proxy.url, token: gateway.token })
const sent = (): number => proxy.requests['/'] ?? 0
const reasonOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error)
const refusal = (executed: 'no' | 'unknown', about: string) => ({
  code: 'STORE_UNAVAILABLE',
  executed,
  cause: { message: expect.stringContaining(about) },
})

describe('what no repeat can change is asked once', () => {
  it('a guarded write that is larger than the server takes, which was not done', async () => {
    const write = guardedSet(fetchTransport(endpoint()), 'large', 'x'.repeat(1_100_000), { fence: 5 })
    expect(await reasonOf(write)).toMatchObject(refusal('no', 'HTTP 413'))
    expect(String(((await reasonOf(write)) as Error).cause)).toContain('send less')
    expect([sent(), await gateway.redis.command('GET', 'large')]).toEqual([1, null])
  })

  // Without 421: according to the standard, fetch itself repeats that once.
  it.each([400, 404, 405, 410, 414, 415, 422, 431, 451])(
    'an acquire that somebody on the way answers with %i and a page',
    async (status) => {
      proxy.answer({ status, body: '<h1>Not here</h1>', headers: { 'content-type': 'text/html' } })
      const acquiring = createLocker({ store: fetchStore(endpoint()) }).acquire('k', { wait: '20s' })
      expect(await reasonOf(acquiring)).toMatchObject(refusal('unknown', `HTTP ${status}); check url`))
      expect(sent()).toBe(1)
    },
  )

  it('a release, which says why it was refused', async () => {
    const events: LockerEvent[] = []
    const locks = createLocker({ store: fetchStore(endpoint()), onEvent: (event) => events.push(event) })
    const lease = await locks.acquire('refused-release', { ttl: '30s' })
    proxy.answer({ status: 404, body: 'not found' })
    expect(await lease.release()).toBe('unknown')
    expect(sent()).toBe(2)
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'release-refused',
        cause: expect.objectContaining({ message: expect.stringContaining('HTTP 404') }),
      }),
    )
  })

  it.each([408, 425, 429])('but %i is asked again', async (status) => {
    proxy.answerNext({ status, body: '<h1>Try again</h1>' })
    const lease = await createLocker({ store: fetchStore(endpoint()) }).acquire(`again-${status}`)
    expect([sent(), await lease.release()]).toEqual([2, 'released'])
  })
})

describe('a server that says when to ask again', () => {
  /** Each request that reaches the proxy, with its arrival time. */
  let arrivals: { readonly body: string; readonly atMs: number }[]
  beforeEach(() => {
    arrivals = []
    const note = (): void =>
      void proxy.nextRequest().then(({ body }) => {
        arrivals.push({ body, atMs: performance.now() })
        note()
      })
    note()
  })
  /** The times between the requests about a key, in milliseconds. */
  const distances = (key: string): readonly number[] => {
    const times = arrivals.filter(({ body }) => body.includes(`lock:${key}"`)).map(({ atMs }) => atMs)
    return times.slice(1).map((atMs, at) => atMs - (times[at] as number))
  }
  /** A second in milliseconds, minus the imprecision of timers and clocks. */
  const aSecond = 990
  const saying = (status: number, after: string) => ({ status, headers: { 'retry-after': after } })

  it.each([429, 503])('by %i, in seconds, is left alone for as long', async (status) => {
    proxy.answerNext(saying(status, '1'))
    const lease = await createLocker({ store: fetchStore(endpoint()) }).acquire('seconds')
    expect(distances('seconds')).toEqual([expect.toSatisfy((ms: number) => ms > aSecond)])
    expect(await lease.release()).toBe('released')
  })

  it.each([429, 503])('by %i, as a date, is left alone until then', async (status) => {
    const date = new Date(Date.now() + 2_000).toUTCString()
    proxy.answerNext(saying(status, date))
    const lease = await createLocker({ store: fetchStore(endpoint()) }).acquire('date')
    expect(Date.now()).toBeGreaterThan(Date.parse(date) - 10)
    expect(distances('date')).toHaveLength(1)
    expect(await lease.release()).toBe('released')
  })

  it.each([429, 503])('by %i, beyond the wait, ends it at once', async (status) => {
    proxy.answer(saying(status, '60'))
    const startedAt = performance.now()
    const acquiring = createLocker({ store: fetchStore(endpoint()) }).acquire('beyond', { wait: '30s' })
    expect(await reasonOf(acquiring)).toMatchObject(refusal('unknown', `HTTP ${status}`))
    expect(performance.now() - startedAt).toBeLessThan(20_000)
    expect(sent()).toBe(1)
  })

  it('is asked by many holders no sooner than it wants, and none of their leases is lost', async () => {
    const keys = Array.from({ length: 20 }, (_, at) => `held-${at}`)
    // Each has its own schedule, like the requests of a Worker.
    const holders = await Promise.all(
      keys.map(async (key) => {
        const locks = createLocker({ store: fetchStore(endpoint()), ttl: '9s' })
        return { locks, lease: await locks.acquire(key) }
      }),
    )
    arrivals.length = 0
    proxy.answer(saying(429, '1'))
    await expect.poll(() => keys.every((key) => distances(key).length > 0), { interval: 20 }).toBe(true)
    proxy.restore()
    for (const key of keys) expect(Math.min(...distances(key)), key).toBeGreaterThan(aSecond)
    for (const { locks, lease } of holders) {
      expect([lease.signal.aborted, await lease.release()]).toEqual([false, 'released'])
      await locks.close()
    }
  })
})

describe('T-80: whatever a server says, its answer is read to the end', () => {
  const page = '<p>no</p>'.repeat(20_000)

  it.each([
    [400, {}],
    [401, {}],
    [404, {}],
    [413, {}],
    [429, { 'retry-after': '60' }],
    [500, {}],
    [503, { 'retry-after': '60' }],
    [503, {}],
  ] as const)('%i %o', async (status, headers) => {
    proxy.answer({ status, body: page, headers })
    const answers: Response[] = []
    const noting = async (...request: Parameters<typeof fetch>): Promise<FetchAnswer> => {
      const answer = await fetch(...request)
      answers.push(answer)
      return answer
    }
    const locks = createLocker({ store: fetchStore({ ...endpoint(), fetch: noting }) })
    const acquiring = Array.from({ length: 12 }, (_, at) => locks.tryAcquire(`read-${at}`, { ttl: 1_500 }))
    for (const reason of await Promise.all(acquiring.map(reasonOf))) {
      expect(reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    await locks.close()
    expect(answers.length).toBeGreaterThan(0)
    expect(answers.filter(({ bodyUsed }) => !bodyUsed)).toEqual([])
  })
})
