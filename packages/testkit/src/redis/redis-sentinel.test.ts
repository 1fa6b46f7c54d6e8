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

  it('promotes a replica on demand, and keeps the old primary as a replica', async () => {
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
})
