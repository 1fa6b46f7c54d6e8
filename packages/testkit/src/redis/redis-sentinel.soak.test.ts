import { expect, it } from 'vitest'
import { startRedisSentinel } from './redis-sentinel.ts'

it('promotes a replica on demand, and keeps the old primary as a replica', async () => {
  await using redis = await startRedisSentinel()
  const before = await redis.primary()
  await before.command('SET', 'key', 'kept')
  expect(await before.replicatedTo(2)).toBe(2)
  const after = await redis.failOver()
  expect(after).not.toBe(before)
  expect(await redis.primary()).toBe(after)
  expect(await after.command('GET', 'key')).toBe('kept')
  expect(await after.command('SET', 'other', 'value')).toBe('OK')
  await redis.rejoined(before)
  await expect(before.command('SET', 'key', 'value')).rejects.toThrow(/^READONLY/)
  expect(await redis.replicas()).toHaveLength(2)
})
