import { env } from 'cloudflare:workers'
import { requestScope } from '@leasehold/cloudflare'
import { AcquireTimeoutError, createLocker, InvalidOptionError, type Locker } from '@leasehold/core'
import { type IdempotencyEvent, idempotent } from '@leasehold/idempotency'
import { fetchStore } from '@leasehold/upstash'
import { beforeEach, describe, expect, test } from 'vitest'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
const others = createLocker({ store: fetchStore(gateway), ttl: '60s', renew: false })

let sent: number
let tasks: Promise<unknown>[]
const ctx = { waitUntil: (task: Promise<unknown>) => void tasks.push(task) }
/** A locker as a Worker creates it for one request, with its subrequests counted. */
const scoped = (options?: Parameters<typeof requestScope>[1]): Locker => {
  const counted = (...args: Parameters<typeof fetch>): Promise<Response> => {
    sent++
    return fetch(...args)
  }
  return createLocker({ store: fetchStore({ ...gateway, fetch: counted as never }), ...requestScope(ctx, options) })
}
beforeEach(async () => {
  sent = 0
  tasks = []
  // So that the server knows the script, and a command is one request.
  await others.withLock('warm', async () => undefined)
})

test('T-42: a waiter without a notifier sends tens of requests, not hundreds', async () => {
  await using _ = await others.acquire('held')
  await expect(scoped({ wait: '6s' }).acquire('held')).rejects.toBeInstanceOf(AcquireTimeoutError)
  // About one per second once it has backed off, and a few before.
  expect(sent).toBeGreaterThan(8)
  expect(sent).toBeLessThan(20)
})

test('T-42: ten waiters of one request stay within its budget, and are told to use the bridge', async () => {
  await using _ = await others.acquire('held-again')
  const locks = scoped({ budget: 25, wait: '20s' })
  const ends = await Promise.allSettled(Array.from({ length: 10 }, () => locks.acquire('held-again')))
  for (const end of ends) {
    expect(end).toMatchObject({ status: 'rejected', reason: { code: 'ACQUIRE_TIMEOUT' } })
    expect(String((end as PromiseRejectedResult).reason.message)).toContain('bridge')
  }
  expect(sent).toBeGreaterThanOrEqual(25)
  // Each waiter whose last command had started when the budget ran out was answered.
  expect(sent).toBeLessThanOrEqual(34)
  const before = sent
  const refused = await locks.tryAcquire('free').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(InvalidOptionError)
  expect(refused).toMatchObject({ option: 'budget', message: expect.stringContaining('bridge') })
  expect(sent).toBe(before)
})

describe('an idempotent handle on the budget of its request', () => {
  let runs: number
  let events: IdempotencyEvent[]
  beforeEach(() => {
    runs = 0
    events = []
  })
  const pay = (locks: Locker, key: string, wait: '0s' | '5s' = '0s'): Promise<Response> => {
    const request = new Request('https://shop.example/', {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: '',
    })
    const once = idempotent({ locks, scope: 'shop', wait, onEvent: (event) => void events.push(event) })
    return once(request, () => {
      runs++
      return new Response('paid', { status: 201 })
    })
  }

  test('that is used up answers 503 with its own words, and when to ask again; the next request pays', async () => {
    const locks = scoped({ budget: 1 })
    await locks.withLock('uses it up', async () => undefined)
    const before = sent
    const refused = await pay(locks, 'spent')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.json()).toMatchObject({ type: '/problems/budget-spent', status: 503 })
    expect([runs, sent - before]).toEqual([0, 0])
    expect(events).toMatchObject([
      { type: 'unavailable', key: 'idempotency:shop:spent', cause: { code: 'INVALID_OPTION', option: 'budget' } },
    ])
    expect([(await pay(scoped({ budget: 1 }), 'spent')).status, runs]).toEqual([201, 1])
  })

  test('that a waiting duplicate uses up answers 409, and when to ask again', async () => {
    await using _ = await others.acquire('idempotency:shop:under-way')
    const waiting = await pay(scoped({ budget: 3 }), 'under-way', '5s')
    expect([waiting.status, waiting.headers.has('retry-after'), runs, events]).toEqual([409, true, 0, []])
    expect(await waiting.json()).toMatchObject({ type: '/problems/in-progress' })
  })
})

test('the wait of a request is a default: a call that names its own waits that long, within the budget', async () => {
  await using _ = await others.acquire('held-longer')
  const locks = scoped({ wait: '0s', budget: 20 })
  expect(await locks.acquire('held-longer').catch(({ waitedMs }) => waitedMs)).toBeLessThan(1_000)
  expect(await locks.acquire('held-longer', { wait: '1500ms' }).catch(({ waitedMs }) => waitedMs)).toBeGreaterThan(
    1_400,
  )
})

test('releases are handed over, and are sent though the budget is used up', async () => {
  const locks = scoped({ budget: 1 })
  const lease = await locks.acquire('last')
  void lease.release()
  expect(tasks).toHaveLength(1)
  await Promise.all(tasks)
  expect(await others.isLocked('last')).toBe(false)
})

test('bad options are refused by name, and so is a longer wait than a request may have', () => {
  expect(() => requestScope({} as never)).toThrow('"ctx"')
  expect(() => requestScope(ctx, { budget: 0 })).toThrow('"budget"')
  expect(() => requestScope(ctx, { wait: '26s' })).toThrow('"wait" must be 25000 ms at most')
  expect(() => requestScope(ctx, { ttl: '5s' } as never)).toThrow('"ttl"')
})
