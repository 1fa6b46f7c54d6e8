import { env } from 'cloudflare:workers'
import { requestScope } from '@leasehold/cloudflare'
import { AcquireTimeoutError, createLocker, InvalidOptionError, type Locker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'
import { beforeEach, expect, test } from 'vitest'

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
