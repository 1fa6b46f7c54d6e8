import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisSentinel, startRedisSentinel } from './redis-sentinel.ts'

describe('startRedisSentinel', () => {
  let redis: RedisSentinel
  beforeAll(async () => {
    redis = await startRedisSentinel()
  })
  afterAll(() => redis.stop())

  it('has a primary with two replicas, and three Sentinels that know it', async () => {
    const primary = await redis.primary()
    expect(primary).toBe(redis.nodes[0])
    expect(await redis.replicas()).toEqual(redis.nodes.slice(1))
    expect(redis.sentinels).toHaveLength(3)
    for (const sentinel of redis.sentinels) {
      const address = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', redis.name)
      expect(address).toEqual([primary.host, String(primary.port)])
    }
  })
})
