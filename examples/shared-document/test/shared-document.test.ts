import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SharedDocument } from '../src/shared-document.ts'

let stack: AsyncDisposableStack
let server: RedisServer
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  server = stack.use(await startRedis())
})
afterAll(() => stack?.disposeAsync())

function document(name: string): SharedDocument {
  const redis = stack.adopt(new Redis(server.url), (open) => open.disconnect())
  return new SharedDocument(redis, name)
}

it('a take-over keeps every keystroke that was accepted before it, and accepts none after it', async () => {
  for (let round = 0; round < 10; round++) {
    const [displaced, successor] = [document(`document-${round}`), document(`document-${round}`)]
    let accepted = ''
    const typing = (async () => {
      for (let typed = 'a'; await displaced.write('text', typed, 1); typed += 'a') accepted = typed
    })()
    await successor.read()
    expect(await successor.claim('text', 2)).toBe(true)
    const claimed = (await successor.read()).text
    await typing
    expect([claimed, (await successor.read()).text]).toEqual([accepted, accepted])
    expect(await displaced.claim('text', 1)).toBe(false)
  }
})
