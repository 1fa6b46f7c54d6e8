import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { expect, test } from 'vitest'
import { driven } from './world.ts'

test('T-45: after a short outage renewal goes on with the first touch, and nobody else gets the lock', async () => {
  const { adopt, others, clock, store, object, pass } = driven()
  const { again } = await adopt('k', { ttl: '5s' })
  await pass(4_000)
  await abortAllDurableObjects()
  await clock.advance(1_000)
  const { link } = await again()
  for (let second = 0; second < 20; second++) {
    await pass(1_000)
    expect(await others.tryAcquire('k')).toBeNull()
  }
  expect(store.called('renew').length).toBeGreaterThan(10)
  expect(await object.status()).toMatchObject({ leases: 1, linked: 1, unanswered: 0 })
  await link.end()
})

test('T-45: after a long outage the lease is told lost, and a successor’s is not renewed', async () => {
  const { adopt, others, clock, store, object, pass } = driven()
  const { again } = await adopt('k', { ttl: '5s' })
  await pass(4_000)
  const renewals = store.called('renew').length
  await abortAllDurableObjects()
  await clock.advance(5_500)
  const successor = await others.acquire('k', { ttl: '20s' })
  await clock.advance(4_500)
  const { link } = await again()
  expect(await link.remaining()).toEqual({ validForMs: 0, lost: 'expired' })
  await pass(10_000, { times: 2 })
  expect(store.called('renew')).toHaveLength(renewals)
  expect(await successor.release()).toBe('released')
  expect(await object.status()).toMatchObject({ leases: 0, nextDueAt: null })
})

test('a restart gives one grace to link again, and then the ttl frees the lock', async () => {
  const { adopt, others, object, pass } = driven({ grace: '10s' })
  await adopt('k', { ttl: '120s' })
  await pass(100_000)
  await abortAllDurableObjects()
  expect(await object.status()).toMatchObject({ leases: 1, linked: 0 })
  await pass(11_000)
  expect(await object.status()).toMatchObject({ leases: 0, nextDueAt: null })
  await pass(120_000)
  expect(await others.tryAcquire('k')).not.toBeNull()
})

test('an alarm that a restart has lost is set again', async () => {
  const { adopt, alarmAtMs, stub } = driven()
  await adopt('k', { ttl: '120s' })
  await runInDurableObject(stub(), (_, { storage }) => storage.deleteAlarm())
  expect(await alarmAtMs()).toBeNull()
  await abortAllDurableObjects()
  expect(await alarmAtMs()).not.toBeNull()
})

test('after a restart no answer rests on the clock of the process before', async () => {
  const { adopt, pass } = driven()
  const { again } = await adopt('k', { ttl: '120s' })
  await pass(50_000)
  await abortAllDurableObjects()
  const { link } = await again(110_000)
  expect((await link.remaining()).validForMs).toBe(0)
  await pass(40_000)
  expect((await link.remaining()).validForMs).toBeGreaterThan(100_000)
})

test('a holder whose object was replaced adopts again, and keeps its lease', async () => {
  const { locks, object, pass } = driven()
  const lease = await locks.acquire('k')
  await pass(50_000)
  await abortAllDurableObjects()
  await pass(5_000)
  expect(await object.status()).toMatchObject({ leases: 1, linked: 1 })
  await pass(200_000)
  expect(lease.signal.aborted).toBe(false)
  expect(await lease.release()).toBe('released')
})
