import { createLocker } from '@leasehold/core'
import { detach } from '@leasehold/core/hand-over'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Setting, startSetting } from './setting.ts'

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
})
afterAll(() => setting[Symbol.asyncDispose]())

const isFree = async (key: string): Promise<boolean> => !(await setting.redis.command('EXISTS', `lock:${key}`))

describe('a statement', () => {
  const path = (month: string): string => `/statements/ada/${month}`
  const order = (month: string): Promise<number> =>
    setting.request(`/statements/${month}`, { method: 'POST' }).then(({ status }) => status)

  test('is ordered by a request, and written by the consumer that takes over its lease', async () => {
    const { gathered, release } = setting.payments.gather(1)
    expect(await order('2026-10')).toBe(202)
    await gathered
    // Between the request and the consumer the lock was never free.
    expect(await order('2026-10')).toBe(409)
    release()
    await expect.poll(() => isFree('statement:ada:2026-10')).toBe(true)
    expect(setting.payments.documents.get(path('2026-10'))?.writes).toBe(1)
  })

  test('whose message is delivered twice is written by one, and the other is told to come later', async () => {
    const store = fetchStore({ url: setting.network.url, token: setting.bindings['REDIS_TOKEN'] ?? '' })
    await using locks = createLocker({ store })
    const lease = await detach(await locks.acquire('statement:ada:2026-11'), { ttl: '1m' })
    const message = { customer: 'ada', month: '2026-11', lease }
    const { gathered, release } = setting.payments.gather(1)
    const first = setting.worker.deliver('statements', message)
    await gathered
    const second = await setting.worker.deliver('statements', message)
    release()
    expect([await first, second]).toEqual([
      { taken: 1, again: 0 },
      { taken: 0, again: 1 },
    ])
    expect(setting.payments.documents.get(path('2026-11'))).toMatchObject({ writes: 1 })
    const written = setting.payments.documents.get(path('2026-11'))?.fence ?? 0
    expect(written).toBeGreaterThan(lease.fence)
    // A delivery that comes even later writes the same again, as a later holder.
    expect(await setting.worker.deliver('statements', message)).toEqual({ taken: 1, again: 0 })
    expect(setting.payments.documents.get(path('2026-11'))?.fence).toBeGreaterThan(written)
  })
})

test('the nightly settlement is made once though two Workers are told to make it', async () => {
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.worker.trigger('0 3 * * *')
  await gathered
  await setting.worker.trigger('0 3 * * *')
  release()
  await first
  const settled = [...setting.payments.documents].filter(([path]) => path.startsWith('/settlements/'))
  expect(settled.map(([, { writes }]) => writes)).toEqual([1])
  expect(await isFree('cron:settlement')).toBe(true)
})
