import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySlot } from './key-slot.ts'

describe('keySlot', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis({ args: ['--cluster-enabled', 'yes'] })
  })
  afterAll(() => redis.stop())

  it.each([
    '',
    'a',
    'lock:order:1',
    '{lock:order:1}:fence',
    '{42}:lock:order:{42}:fence',
    '{}a',
    '}a{b}',
    'a{b',
    'é{ü}',
  ])('agrees with the server about %j', async (key) => {
    expect(keySlot(key)).toBe(await redis.command('CLUSTER', 'KEYSLOT', key))
  })
})
