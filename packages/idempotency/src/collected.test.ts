import { expect, it } from 'vitest'
import { heapBytes } from '../../../test/support/heap.ts'
import { memorySetting, requestOf } from '../test/memory-setting.ts'

it('work that only waits for its signal is told of a loss, whatever has been collected meanwhile', async () => {
  const setting = memorySetting()
  const told = Promise.withResolvers<string>()
  const begun = Promise.withResolvers<string>()
  const answered = setting.handle()(requestOf(), async (request, { run }) => {
    begun.resolve(run?.key ?? '')
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve))
    told.resolve('told')
    return new Response('late')
  })
  const key = await setting.settled(begun.promise)
  await heapBytes()
  await setting.elsewhere.revoke(key)
  expect(await setting.settled(told.promise)).toBe('told')
  expect((await setting.settled(answered)).status).toBe(200)
})
