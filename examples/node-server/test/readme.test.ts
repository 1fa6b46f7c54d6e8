import { curlsOf, run } from '@leasehold/example-local/curl'
import { expect, test } from 'vitest'
import { startServer } from './server.ts'

/** Replaces what differs from run to run. */
const settled = (answer: string): string =>
  answer.replace(/"server-\d+"/, '"server"').replace(/"fence":\d+/, '"fence":1')

test('the server answers what the README shows', async () => {
  const curls = curlsOf(new URL('../README.md', import.meta.url))
  await using server = await startServer({ REDIS_URL: '' })
  const answers = await run(curls, { '3000': server.url })
  expect(answers.map(settled)).toEqual(curls.map(({ answer }) => settled(answer)))
})
