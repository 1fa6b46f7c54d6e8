import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { deleteKeys, keysUnder, untilGone } from './traces.ts'

test('traces of a run are found and deleted, whatever form its keys have, and nothing else', async () => {
  await using server = await startRedis()
  const redis = new Redis(server.url).on('error', () => undefined)
  const mine = ['demo:lock:x', '{demo:lock:x}:fence', 'demo:shop:ledger']
  const others = ['demo', 'other:demo:x', '{demo', 'demolition:x']
  for (const key of [...mine, ...others]) await redis.set(key, 1)

  expect((await keysUnder(redis, 'demo:')).toSorted()).toEqual(mine.toSorted())
  await deleteKeys(redis, mine.slice(0, 2))
  await redis.pexpire('demo:shop:ledger', 300)
  const { signal } = new AbortController()
  expect((await untilGone(redis, 'demo:', 50, signal)).left).toEqual(['demo:shop:ledger'])
  expect((await untilGone(redis, 'demo:', 5_000, signal)).left).toEqual([])
  expect((await redis.keys('*')).toSorted()).toEqual(others.toSorted())
  redis.disconnect()
})
