import { expect, test } from 'vitest'
import { recordOf, startSetting } from './setting.ts'

test('a payment service that never answers costs its client ten seconds, and the retry asks it again', async () => {
  await using setting = await startSetting()
  const { gathered, release } = setting.payments.gather(1)
  const first = setting.pay('k')
  await gathered
  expect(await first).toMatchObject({ status: 502, body: { type: '/problems/payment-service' } })
  release()
  expect((await setting.pay('k')).status).toBe(201)
  expect(await setting.redis.command('EXISTS', `lock:${recordOf('k')}`)).toBe(0)
})
