import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { afterEach, expect, test } from 'vitest'
import { driven, world } from './world.ts'

/*
 * The storage fails for real where it can: triggers refuse what is written, and a table that has another name refuses
 * what is read. Nothing in SQL makes `setAlarm` fail, so that is replaced.
 */

const sql = (stub: object, ...queries: readonly string[]): Promise<void> =>
  runInDurableObject(stub, (_, { storage }) => {
    for (const query of queries) storage.sql.exec(query)
  })

const refusals = ['INSERT', 'UPDATE', 'DELETE'].map((what) => ({
  on: `CREATE TRIGGER refused_${what} BEFORE ${what} ON leases BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END`,
  off: `DROP TRIGGER IF EXISTS refused_${what}`,
}))
const refuseWrites = refusals.map(({ on }) => on)
const acceptWrites = refusals.map(({ off }) => off)

const alarmOf = (instance: object): Promise<void> => (instance as { alarm(): Promise<void> }).alarm()

afterEach(() => {
  world.beforeStart = undefined
})

test.each([
  ['written', refuseWrites, acceptWrites],
  ['read', ['ALTER TABLE leases RENAME TO away'], ['ALTER TABLE away RENAME TO leases']],
] as const)(
  'while nothing can be %s, rounds come a second apart, and none throws; afterwards the lease is renewed as before',
  async (what, fail, mend) => {
    const { adopt, clock, store, stub, alarmAtMs, pass } = driven()
    const { lost } = await adopt('k', { ttl: '120s' })
    await pass(39_000)
    await sql(stub(), ...fail)
    const alarms = await pass(10_500)
    expect([alarms, store.called('renew').length]).toEqual([10, what === 'written' ? 10 : 0])
    expect(((await alarmAtMs()) ?? 0) - clock.wallMs()).toBe(500)
    await sql(stub(), ...mend)
    const before = store.called('renew').length
    await pass(121_000)
    expect(store.called('renew').length - before).toBe(4)
    expect(await lost()).toBe('held')
  },
)

test('while writes are refused, questions and the end of a lease do not bring the alarm forward', async () => {
  const { adopt, clock, stub, alarmAtMs, pass } = driven()
  const { link } = await adopt('k', { ttl: '120s' })
  await pass(39_900)
  await sql(stub(), ...refuseWrites)
  await pass(200)
  await link.remaining()
  await link.end().catch(() => undefined)
  expect(((await alarmAtMs()) ?? 0) - clock.wallMs()).toBeGreaterThan(500)
  await sql(stub(), ...acceptWrites)
})

test('an alarm that cannot be set is tried once more, for a second later; it does not throw', async () => {
  const { adopt, clock, stub, alarmAtMs, pass } = driven()
  const { lost } = await adopt('k', { ttl: '120s' })
  await pass(38_000)
  await runInDurableObject(stub(), async (instance, { storage }) => {
    const { setAlarm } = storage
    let failures = 1
    storage.setAlarm = async (atMs) => {
      if (failures-- > 0) throw new Error('disk I/O error')
      return setAlarm.call(storage, atMs)
    }
    await alarmOf(instance)
    storage.setAlarm = setAlarm
  })
  expect(((await alarmAtMs()) ?? 0) - clock.wallMs()).toBe(1_000)
  await pass(200_000)
  expect(await lost()).toBe('held')
})

test('an alarm that cannot be set at all does not throw either, and the holder’s next question sets it', async () => {
  const { adopt, stub, alarmAtMs, pass } = driven()
  const { link, lost } = await adopt('k', { ttl: '120s' })
  await pass(39_000)
  await runInDurableObject(stub(), async (instance, { storage }) => {
    const { setAlarm } = storage
    await storage.deleteAlarm()
    storage.setAlarm = () => Promise.reject(new Error('disk I/O error'))
    await alarmOf(instance)
    storage.setAlarm = setAlarm
  })
  expect(await alarmAtMs()).toBeNull()
  await pass(2_000)
  await link.remaining()
  expect(await alarmAtMs()).not.toBeNull()
  await pass(200_000)
  expect(await lost()).toBe('held')
})

test('an object whose storage fails while it starts is started again, and keeps its lease and its alarm', async () => {
  const { adopt, object, stub, alarmAtMs, pass } = driven()
  const { again } = await adopt('k', { ttl: '120s' })
  await sql(stub(), ...refuseWrites)
  await abortAllDurableObjects()
  const status = async (): Promise<unknown> => object.status()
  await expect(status()).rejects.toThrow('disk I/O error')
  world.beforeStart = ({ storage }) => {
    for (const query of acceptWrites) storage.sql.exec(query)
  }
  expect(await object.status()).toMatchObject({ leases: 1, linked: 0 })
  expect(await alarmAtMs()).not.toBeNull()
  const { link } = await again()
  await pass(200_000)
  expect(await object.status()).toMatchObject({ leases: 1, linked: 1, unanswered: 0 })
  await link.end()
})
