import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elapse, ms } from '../../../test/support/scale.ts'
import { type Burst, burstOf, leftBehind, timesEach } from './burst.ts'
import { durable, type Reply, type Setting, startSetting } from './setting.ts'

let setting: Setting
beforeAll(async () => {
  setting = await startSetting(durable)
})
afterAll(() => setting[Symbol.asyncDispose]())

const replayed = ({ headers }: Reply): boolean => headers.get('idempotency-replayed') === 'true'
const one = ({ keys }: Burst): readonly number[] => keys.map(() => 1)

describe('200 requests over 20 keys at once', () => {
  test('make 20 payments, and every other request is a replay or told to come back', async () => {
    const burst = burstOf(setting, 'sound')
    const before = setting.network.requests['/'] ?? 0
    const replies = await Promise.all(burst.requests.map((key) => setting.pay(key)))
    const sent = (setting.network.requests['/'] ?? 0) - before
    const statuses = replies.map(({ status }) => status)
    const fresh = replies.filter((reply) => reply.status === 201 && !replayed(reply))
    const others = replies.filter((reply) => replayed(reply) || reply.status === 409)
    console.log(`${replies.length} requests: ${replies.filter(replayed).length} replays, ${sent} requests to the store`)
    expect(burst.effects()).toEqual(one(burst))
    const rest = (timesEach - 1) * burst.keys.length
    expect([fresh.length, others.length, statuses.filter((status) => status >= 500)]).toEqual([20, rest, []])
    // Those who come back get the answer, too.
    const again = await Promise.all(burst.requests.map((key) => setting.payPatiently(key)))
    expect(again.filter(replayed)).toHaveLength(again.length)
    expect([burst.effects(), burst.bodies([...replies, ...again])]).toEqual([one(burst), one(burst)])
    await expect.poll(() => leftBehind(setting)).toEqual(['fence', 'record'])
  })

  describe('while every third reply of the store is lost, and every third request reaches it twice', () => {
    beforeAll(() => setting.network.inTurn('forward', 'duplicate', 'drop'))
    afterAll(() => setting.network.restore())

    /** @param fault what happens to Redis once the first requests are there */
    async function paidOnce(name: string, fault: () => Promise<void>): Promise<void> {
      const burst = burstOf(setting, name)
      const asking = Promise.all(burst.requests.map((key) => setting.payPatiently(key)))
      await fault()
      const replies = await asking
      const statuses = new Set(replies.map(({ status }) => status))
      expect([burst.effects(), [...statuses]]).toEqual([one(burst), [201]])
      expect(burst.bodies(replies)).toEqual(one(burst))
      await expect.poll(() => leftBehind(setting)).toEqual(['fence', 'record'])
    }

    test('make 20 payments though Redis does not answer for 2 s', () =>
      paidOnce('silent', async () => {
        await setting.network.nextRequest()
        setting.redis.pause()
        await elapse(ms(2_000, 1_000))
        setting.redis.resume()
      }))

    test('make 20 payments though Redis is killed during ten of them, and is back with its data after 2 s', async () => {
      const { gathered, release } = setting.payments.gather(10)
      await paidOnce('killed', async () => {
        await gathered
        await setting.redis.kill()
        // Now these ten are paid, and cannot be recorded. The others cannot be claimed.
        release()
        await elapse(ms(2_000, 1_000))
        await setting.redis.restart()
      })
    })
  })
})
