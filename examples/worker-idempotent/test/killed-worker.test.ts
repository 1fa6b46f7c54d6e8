import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/scale.ts'
import { type Burst, burstOf, timesEach } from './burst.ts'
import { type KilledBurst, killedBurst } from './killed-worker.ts'
import { type Setting, startSetting } from './setting.ts'

let setting: Setting
beforeAll(async () => {
  setting = await startSetting()
  // From here on the server has the scripts cached, and every command is sent once.
  await setting.pay('first')
})
afterAll(() => setting[Symbol.asyncDispose]())

describe('a Worker that is killed while it makes 20 payments, and duplicates wait for them', () => {
  const times = ({ keys }: Burst, count: number): readonly number[] => keys.map(() => count)

  /** Each payment is made, and nobody hears of it. */
  async function killed(burst: Burst, policy: 'reject' | 'rerun'): Promise<KilledBurst> {
    const { gathered, release } = setting.payments.gather(burst.keys.length)
    const before = setting.network.requests['/'] ?? 0
    return killedBurst(setting, burst, policy, async ({ waiting, kill }) => {
      await gathered
      const asked = (): number => (setting.network.requests['/'] ?? 0) - before
      await eventually(() => asked() >= burst.requests.length && waiting() > burst.keys.length)
      console.log(`killed with ${waiting()} requests waiting for an answer`)
      await kill()
      release()
      expect(burst.effects()).toEqual(times(burst, 1))
    })
  }

  /** How often the operator was told of each key in doubt, with that decision. */
  const told = ({ records }: Burst, { doubts }: KilledBurst, decision: string): readonly number[] =>
    records.map((record) => doubts.filter((each) => each.key === record && each.decision === decision).length)

  test('leaves each key in doubt: nobody pays again, every client is told, and so is the operator', async () => {
    const burst = burstOf(setting, 'rejected')
    await using after = await killed(burst, 'reject')
    expect(after.replies.map(({ body }) => body['type'])).toEqual(burst.requests.map(() => '/problems/in-doubt'))
    expect(burst.effects()).toEqual(times(burst, 1))
    await expect.poll(() => told(burst, after, 'reject')).toEqual(times(burst, timesEach))
  })

  test('pays again under "rerun": once for each key, and the operator is told of each', async () => {
    const burst = burstOf(setting, 'run-again')
    await using after = await killed(burst, 'rerun')
    expect(after.replies.map(({ status }) => status)).toEqual(burst.requests.map(() => 201))
    expect([burst.effects(), burst.bodies(after.replies)]).toEqual([times(burst, 2), times(burst, 1)])
    await expect.poll(() => told(burst, after, 'rerun')).toEqual(times(burst, 1))
  })

  test('pays once all the same where the payment service knows our keys', async () => {
    const burst = burstOf(setting, 'refused')
    setting.payments.refuseRepeats()
    await using after = await killed(burst, 'rerun')
    expect(after.replies.map(({ status }) => status)).toEqual(burst.requests.map(() => 201))
    expect([burst.effects(), burst.bodies(after.replies)]).toEqual([times(burst, 1), times(burst, 1)])
    await expect.poll(() => told(burst, after, 'rerun')).toEqual(times(burst, 1))
  })
})
