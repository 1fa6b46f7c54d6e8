import { seededRandom } from '@leasehold/testkit'
import { expect, test } from 'vitest'
import { elapse } from '../../../test/support/scale.ts'
import { type Burst, burstOf, leftBehind } from './burst.ts'
import { type KilledBurst, killedBurst } from './killed-worker.ts'
import { durable, type Setting, startSetting } from './setting.ts'

/*
 * Redis is killed in the middle of a burst, and comes back after 2 s. The Worker is killed at any moment of that, or soon
 * after: some of its payments are recorded by then, some are made, and some not even begun. All the while every third
 * reply of the store is lost, and every third request reaches it twice.
 */

const burstsEach = 3
/** A claim that nobody heard of, and that nobody is left to undo, ends with its lease of 30 s. */
const longestLeaseMs = 45_000

/** The keys that the operator was told of. */
const told = ({ doubts }: KilledBurst): ReadonlySet<string> => new Set(doubts.map(({ key }) => key))

async function killed(
  setting: Setting,
  burst: Burst,
  policy: 'reject' | 'rerun',
  random: () => number,
): Promise<KilledBurst> {
  // Far less than the Worker gives the payment service: after that it gives the key back, and the next request pays.
  setting.payments.take(() => random() * 1_000)
  const { gathered, release } = setting.payments.gather(1 + Math.floor(random() * burst.keys.length))
  release()
  const laterMs = random() * 2_500
  let back = Promise.resolve()
  setting.network.inTurn('forward', 'duplicate', 'drop')
  const after = await killedBurst(setting, burst, policy, async ({ waiting, kill }) => {
    await gathered
    await setting.redis.kill()
    back = elapse(2_000).then(() => setting.redis.restart())
    await elapse(laterMs)
    const made = burst.effects().filter((count) => count > 0).length
    console.log(`${policy}: killed with ${made} payments made and ${waiting()} requests waiting for an answer`)
    await kill()
  })
  await back
  setting.network.restore()
  return after
}

/** Lets bursts happen under a policy, and checks each. */
async function bursts(
  policy: 'reject' | 'rerun',
  check: (burst: Burst, after: KilledBurst) => Promise<void>,
  prepare: (setting: Setting) => void = () => undefined,
): Promise<void> {
  const { random } = seededRandom()
  await using setting = await startSetting(durable)
  prepare(setting)
  for (let round = 0; round < burstsEach; round++) {
    const burst = burstOf(setting, `round-${round}`)
    await using after = await killed(setting, burst, policy, random)
    await check(burst, after)
    await expect.poll(() => leftBehind(setting), { timeout: longestLeaseMs }).toEqual(['fence', 'record'])
  }
}

test('under "reject" no key is paid twice, and each key in doubt is told of', async () => {
  await bursts('reject', async (burst, after) => {
    const replies = burst.byKey(after.replies)
    const inDoubt = replies.map((each) => each.some(({ body }) => body['type'] === '/problems/in-doubt'))
    const neither = after.replies.filter(({ status, body }) => status !== 201 && body['type'] !== '/problems/in-doubt')
    expect(neither).toEqual([])
    expect(burst.effects().filter((count) => count > 1)).toEqual([])
    expect(burst.bodies(after.replies).filter((count) => count > 1)).toEqual([])
    // A key that is not in doubt is paid for.
    expect(burst.effects().filter((count, at) => count === 0 && !inDoubt[at])).toEqual([])
    const doubtful = burst.records.filter((_, at) => inDoubt[at])
    console.log(`reject: ${doubtful.length} keys in doubt`)
    await expect.poll(() => doubtful.filter((record) => !told(after).has(record))).toEqual([])
  })
})

test('under "rerun" only keys that the operator was told of are paid again', async () => {
  await bursts('rerun', async (burst, after) => {
    expect(after.replies.map(({ status }) => status)).toEqual(burst.requests.map(() => 201))
    const again = burst.records.filter((_, at) => burst.effects()[at] !== 1)
    console.log(`rerun: ${again.length} keys paid again`)
    await expect.poll(() => again.filter((record) => !told(after).has(record))).toEqual([])
    expect(burst.effects().filter((count) => count < 1 || count > 2)).toEqual([])
  })
})

test('where the payment service knows our keys, exactly 20 payments are made', async () => {
  await bursts(
    'rerun',
    async (burst, after) => {
      const once = burst.keys.map(() => 1)
      expect(after.replies.map(({ status }) => status)).toEqual(burst.requests.map(() => 201))
      expect([burst.effects(), burst.bodies(after.replies)]).toEqual([once, once])
    },
    ({ payments }) => payments.refuseRepeats(),
  )
})
