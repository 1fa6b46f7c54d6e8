import type { LeaseLostError } from '@leasehold/core'
import { expect, test } from 'vitest'
import { driven } from './world.ts'

test('a lease whose link ends is renewed for a grace, and then left to its ttl', async () => {
  const { adopt, object, pass, store } = driven({ grace: '10s' })
  const { adoption } = await adopt('k', { ttl: '120s' })
  await pass(35_000)
  adoption[Symbol.dispose]()
  await expect.poll(() => object.status()).toMatchObject({ leases: 1, linked: 0 })
  await pass(9_000)
  expect(store.called('renew')).toHaveLength(1)
  await pass(2_000)
  expect(await object.status()).toMatchObject({ leases: 0, nextDueAt: null })
  await pass(300_000)
  expect(store.called('renew')).toHaveLength(1)
})

test('a lease that is adopted twice ends with the last of its links, or with the first that says so', async () => {
  const { adopt, object, pass } = driven()
  const { adoption, again } = await adopt('k', { ttl: '120s' })
  const second = await again()
  adoption[Symbol.dispose]()
  await pass(30_000)
  expect(await object.status()).toMatchObject({ leases: 1, linked: 1 })
  const third = await again()
  await second.link.end()
  expect(await object.status()).toMatchObject({ leases: 0, nextDueAt: null })
  third[Symbol.dispose]()
  expect(await object.status()).toMatchObject({ leases: 0 })
})

test('maxHold is kept though the holder lives on', async () => {
  const { adopt, pass, store } = driven()
  const { lost } = await adopt('k', { ttl: '120s', holdForMs: 100_000 })
  await pass(99_000)
  expect([await lost(), store.called('renew').length]).toEqual(['held', 2])
  await pass(2_000)
  expect(await lost()).toBe('max-hold')
  await pass(120_000)
  expect(store.called('renew')).toHaveLength(2)
})

test('a lease that an operator revokes is told lost with the next renewal', async () => {
  const { locks, others, pass } = driven()
  const lease = await locks.acquire('k')
  await pass(5_000)
  await others.revoke('k')
  const successor = await others.acquire('k', { ttl: '5m' })
  await pass(45_000)
  expect((lease.signal.reason as LeaseLostError).reason).toBe('superseded')
  expect(await lease.release()).not.toBe('released')
  expect(await successor.release()).toBe('released')
})

test('the holder trusts the object’s renewal from before its own question, and less than the store keeps', async () => {
  const { locks, others, pass } = driven()
  const lease = await locks.acquire('k')
  for (let at = 0; at < 30; at++) {
    await pass(7_000)
    const state = await others.inspect('k')
    if (!state.held) throw new Error('It is not held')
    expect(lease.remaining()).toBeLessThan(state.expiresInMs ?? 0)
    expect(lease.remaining()).toBeGreaterThan(30_000)
  }
  await lease.release()
})

test('too short a ttl and too many leases are refused by name', async () => {
  const { adopt, object } = driven({ minTtl: '60s', mostLeases: 2 })
  await expect(adopt('short', { ttl: '59s' })).rejects.toThrow('"ttl" must be at least 60000 ms')
  await adopt('a', { ttl: '60s' })
  const { again } = await adopt('b', { ttl: '60s' })
  await expect(adopt('c', { ttl: '60s' })).rejects.toThrow('renews 2 leases already; spread keys over several objects')
  await again()
  expect(await object.status()).toMatchObject({ leases: 2 })
})

test('what an operator is shown has no key and no token', async () => {
  const { adopt, object, pass } = driven()
  const { lease } = await adopt('customer-7', { ttl: '120s' })
  await pass(50_000)
  const status = await object.status()
  expect(status).toEqual({
    leases: 1,
    linked: 1,
    nextDueAt: expect.any(Date),
    lastRequest: { at: expect.any(Date), leases: 1, trouble: null },
    unanswered: 0,
  })
  expect(JSON.stringify(status)).not.toMatch(new RegExp(`customer|${lease.token.slice(0, 8)}`))
})
