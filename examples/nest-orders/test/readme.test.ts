import { type Curl, curlsOf, run } from '@leasehold/example-local/curl'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { soak } from '../../../test/support/scale.ts'
import { build, startNest } from './nest-server.ts'

test('the application answers what the README shows, in its own times, and 503 when Redis does not answer', async () => {
  await build()
  const redis = await startRedis()
  try {
    await using server = await startNest({ REDIS_URL: redis.url })
    const curls = curlsOf(new URL('../README.md', import.meta.url))
    // The commands about orders run at once, because they take seconds; those about coupons run in turn.
    const [orders, coupons] = [false, true].map((wanted) => curls.filter(({ path }) => /coupons/.test(path) === wanted))
    const alone = (curl: Curl): Promise<readonly string[]> => run([curl], { '3000': server.url })
    const answers = await Promise.all([...(orders ?? []).map(alone), run(coupons ?? [], { '3000': server.url })])
    const shown = [...(orders ?? []), ...(coupons ?? [])].map(({ answer }) => answer)
    expect(answers.flat().map((answer, index) => settled(shown[index] ?? '', answer))).toEqual(shown)
    redis.pause()
    const order = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"userId":"a","productId":"b"}',
    }
    const unanswered = await fetch(`${server.url}/v2/orders/process`, order).finally(() => redis.resume())
    expect(unanswered.status).toBe(503)
    await server.stop()
    expect(await redis.command('KEYS', 'lock:order:*')).toEqual([])
  } finally {
    await redis.stop()
  }
})

interface Outcome {
  readonly answer: string
  readonly seconds: number
}

/** How late an answer may be, in whole seconds, on a machine that is busy with other tests. */
const allowance = soak ? 0 : 1

/** The form in which answers are compared: callers that do not wait for each other are answered in any order. */
function settled(shown: string, answer: string): string {
  if (!answer.startsWith('[')) return answer
  const outcomes = (JSON.parse(answer) as Outcome[]).toSorted(
    (a, b) => a.seconds - b.seconds || a.answer.localeCompare(b.answer),
  )
  const promised = JSON.parse(shown) as Outcome[]
  const inTime = outcomes.map((outcome, index) => {
    const seconds = promised[index]?.seconds ?? 0
    return outcome.seconds >= seconds && outcome.seconds <= seconds + allowance ? { ...outcome, seconds } : outcome
  })
  return JSON.stringify(inTime)
}
