import type { Lease, LeaseLostError } from '@leasehold/core'
import { expect, test } from 'vitest'
import { type Adopted, driven } from './world.ts'

const reasonOf = ({ signal }: Lease): unknown => (signal.aborted ? (signal.reason as LeaseLostError).reason : undefined)

test('T-44: one alarm serves locks of every ttl, delivered twice or not, and is gone with the last of them', async () => {
  const { adopt, others, store, object, pass, alarmAtMs } = driven()
  // Their holders ask nothing, so only alarms renew them.
  const held = new Map<number, Adopted>()
  for (const s of [8, 2, 30, 5, 13, 3]) held.set(s, await adopt(`lock-${s}`, { ttl: `${s}s` as '1s' }))
  let alarms = 0
  for (let second = 0; second < 20; second += 2) {
    alarms += await pass(2_000, { times: second % 4 === 0 ? 2 : 1 })
    for (const s of held.keys()) expect(await others.tryAcquire(`lock-${s}`)).toBeNull()
  }
  // The lock of 2 s needs one each 667 ms, and the others are renewed along with it. Alone, the six would need 75.
  expect(alarms).toBe(30)
  expect(store.called('renew')).toHaveLength(alarms)
  for (const s of [2, 13]) await held.get(s)?.link.end()
  store.calls.length = 0
  alarms = await pass(20_000, { times: 2 })
  const asked = new Set(store.called('renew').flatMap(({ requests }) => requests.map(({ key }) => key)))
  expect([...asked].sort()).toEqual(['lock-3', 'lock-30', 'lock-5', 'lock-8'])
  expect(store.called('renew')).toHaveLength(alarms)
  for (const s of [3, 30, 5, 8]) {
    expect(await held.get(s)?.lost()).toBe('held')
    expect(await others.tryAcquire(`lock-${s}`)).toBeNull()
  }
  for (const s of [2, 13]) expect(await others.tryAcquire(`lock-${s}`)).not.toBeNull()
  for (const s of [3, 30, 5, 8]) await held.get(s)?.link.end()
  expect([await object.status(), await alarmAtMs()]).toMatchObject([{ leases: 0, nextDueAt: null }, null])
})

test('leases that fall due near each other are renewed in one request', async () => {
  const { locks, store, pass } = driven()
  const leases: Lease[] = []
  for (const key of ['a', 'b', 'c', 'd']) {
    leases.push(await locks.acquire(key))
    await pass(5_000)
  }
  await pass(120_000)
  expect(store.called('renew').map(({ requests }) => requests.length)).toEqual([4, 4, 4])
  for (const lease of leases) expect(reasonOf(lease)).toBeUndefined()
})

test('T-46: an alarm a minute late loses a lease of 30 s: its holder is told, and the successor is left alone', async () => {
  const { adopt, others, clock, store, pass, deliver, object } = driven()
  const { lost } = await adopt('k', { ttl: '30s' })
  await pass(31_000, { lateMs: 60_000 })
  const successor = await others.acquire('k', { ttl: '60s' })
  expect(await lost()).toBe('held')
  await pass(39_000, { lateMs: 60_000 })
  await deliver().catch(() => undefined)
  expect(await lost()).toBe('expired')
  expect(store.called('renew')).toEqual([])
  expect(successor.remaining()).toBeLessThan(22_000)
  expect(await successor.release()).toBe('released')
  expect(await object.status()).toMatchObject({ leases: 0 })
  expect(clock.pending).toBe(0)
})

test('T-46: with 120 s nothing is lost, however many alarms are a minute late', async () => {
  const { adopt, others, store, pass } = driven()
  const { lost } = await adopt('k', { ttl: '120s' })
  for (let minute = 0; minute < 10; minute++) {
    await pass(60_000, { lateMs: 60_000 })
    expect(await others.tryAcquire('k')).toBeNull()
  }
  expect(await lost()).toBe('held')
  expect(store.called('renew').length).toBeGreaterThan(4)
})

test('a holder that asks has what is due renewed, though the alarm never comes', async () => {
  const { locks, clock } = driven()
  const lease = await locks.acquire('k', { ttl: '30s' })
  for (let second = 0; second < 120; second++) {
    await clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  expect(reasonOf(lease)).toBeUndefined()
  expect(await lease.release()).toBe('released')
})

test('an alarm that comes early, or again, renews nothing and stays set', async () => {
  const { adopt, store, deliver, alarmAtMs, clock } = driven()
  await adopt('k', { ttl: '120s' })
  const atMs = await alarmAtMs()
  await deliver(3)
  expect([await alarmAtMs(), store.called('renew')]).toEqual([atMs, []])
  expect((atMs ?? 0) - clock.wallMs()).toBe(40_000)
})
