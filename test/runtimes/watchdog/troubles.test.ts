import { abortAllDurableObjects } from 'cloudflare:test'
import { replyLost, requestLost, unavailable } from '@leasehold/testkit'
import { expect, test } from 'vitest'
import { driven, world } from './world.ts'

test('a store that is silent is asked again, paced, until the lease is over; then it is told as unreachable', async () => {
  const { adopt, pass, store, object } = driven()
  const { lost } = await adopt('k', { ttl: '120s' })
  store.always('renew', unavailable('unknown'))
  await pass(115_000)
  const { length } = store.called('renew')
  expect(length).toBeGreaterThan(8)
  expect(length).toBeLessThan(20)
  expect(await object.status()).toMatchObject({ unanswered: 1, lastRequest: { trouble: expect.any(String) } })
  expect(await lost()).toBe('held')
  await pass(5_000)
  expect(await lost()).toBe('unreachable')
  await pass(60_000)
  expect(await object.status()).toMatchObject({ leases: 0, nextDueAt: null })
})

test('an answer after some silence makes it good', async () => {
  const { locks, pass, store, object } = driven()
  const lease = await locks.acquire('k')
  await pass(30_000)
  store.always('renew', unavailable('no'))
  await pass(60_000)
  expect(lease.signal.aborted).toBe(false)
  store.always('renew', async ({ execute }) => execute())
  await pass(300_000)
  expect(lease.signal.aborted).toBe(false)
  expect(await object.status()).toMatchObject({ leases: 1, unanswered: 0, lastRequest: { trouble: null } })
})

test('a quiet time that the store asks for is observed by all leases', async () => {
  const { adopt, pass, store } = driven()
  await adopt('a', { ttl: '120s' })
  await pass(22_000)
  // Due 2 s too late to share the first request, and during the quiet time.
  await adopt('b', { ttl: '120s' })
  store.next('renew', async ({ requests }) =>
    requests.map(() => ({ type: 'unknown', executed: 'no', retryAfterMs: 25_000 }) as const),
  )
  await pass(19_000)
  expect(store.called('renew')).toHaveLength(1)
  await pass(22_000)
  expect(store.called('renew')).toHaveLength(1)
  await pass(3_000)
  expect(store.called('renew').length).toBeGreaterThan(1)
})

test('one lease that is refused, and one that is gone, do not cost the others their renewal', async () => {
  const { adopt, pass, store } = driven()
  const held = [await adopt('a', { ttl: '120s' }), await adopt('b', { ttl: '120s' }), await adopt('c', { ttl: '120s' })]
  store.next('renew', async ({ requests, execute }) => {
    const outcomes = await execute()
    const instead: Record<string, unknown> = { a: { type: 'gone' }, b: { type: 'unknown', executed: 'no' } }
    return requests.map(({ key }, at) => instead[key] ?? outcomes[at]) as never
  })
  await pass(41_000)
  expect(await Promise.all(held.map(({ lost }) => lost()))).toEqual(['gone', 'held', 'held'])
  await pass(200_000)
  expect(await Promise.all(held.map(({ lost }) => lost()))).toEqual(['gone', 'held', 'held'])
})

test.each([
  ['whose request is lost', requestLost],
  ['whose reply is lost', replyLost],
  [
    'that throws',
    () => {
      throw new Error('A bug in the store')
    },
  ],
  ['that rejects', () => Promise.reject(new Error('A bug in the store'))],
] as const)('an alarm of a store %s ends, does not throw, and is set again', async (_, fate) => {
  const { adopt, pass, store, alarmAtMs } = driven()
  const { lost } = await adopt('k', { ttl: '120s' })
  store.always('renew', fate as never)
  await pass(45_000)
  expect(store.called('renew').length).toBeLessThan(8)
  store.always('renew', async ({ execute }) => execute())
  expect(await alarmAtMs()).not.toBeNull()
  await pass(200_000)
  expect(await lost()).toBe('held')
})

test('bad settings fail an adoption by name; the alarm goes on all the same', async () => {
  const { adopt, pass, object, alarmAtMs } = driven()
  await adopt('k', { ttl: '120s' })
  const good = world.settings
  world.settings = { ...good, store: undefined as never }
  await abortAllDurableObjects()
  await expect(adopt('l', { ttl: '120s' })).rejects.toThrow('"store" must be a store')
  expect(await object.status()).toMatchObject({ leases: 1 })
  expect(await alarmAtMs()).not.toBeNull()
  world.settings = good
  await pass(60_000)
  // Nobody has linked to the object again, so the lease's grace is over, and the alarm has nothing to do.
  expect([(await object.status()).leases, await alarmAtMs()]).toEqual([0, null])
})
