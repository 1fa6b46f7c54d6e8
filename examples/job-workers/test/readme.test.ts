import { curlsOf, run } from '@leasehold/example-local/curl'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startWorker } from './workers.ts'

/** Replaces what differs from run to run. */
const settled = (answer: string): string => answer.replace(/"fence":\d+/, '"fence":1').replace(/"worker-\d+"/, '"w"')

test('the worker answers what the README shows', async () => {
  const curls = curlsOf(new URL('../README.md', import.meta.url))
  await using redis = await startRedis()
  await using worker = await startWorker(redis.url, 'worker-1')
  const answers = await run(curls, { '3000': worker.url })
  expect(answers.map(settled)).toEqual(curls.map(({ answer }) => settled(answer)))
})
