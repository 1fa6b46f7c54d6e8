import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisCluster, startRedisCluster } from './redis-cluster.ts'
import type { RedisServer } from './redis-server.ts'

describe('startRedisCluster with replicas', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: 1 })
  })
  afterAll(() => cluster.stop())

  it('gives each primary a replica, which takes over and back', async () => {
    expect(cluster.replicas).toHaveLength(3)
    const before = await cluster.nodeOf('key')
    const [replica] = await cluster.replicasOf(before)
    expect(cluster.replicas).toContain(replica)
    await before.command('SET', 'key', 'kept')
    expect(await before.replicatedTo(1)).toBe(1)
    expect(await cluster.failOver(before)).toBe(replica)
    expect(await cluster.nodeOf('key')).toBe(replica)
    expect(await replica?.command('GET', 'key')).toBe('kept')
    expect(await cluster.failOver(replica as RedisServer)).toBe(before)
  })

  it('loses what was written while its replication was stopped, when a replica is promoted', async () => {
    const key = 'lost'
    const before = await cluster.nodeOf(key)
    const [replica] = (await cluster.replicasOf(before)) as [RedisServer]
    await replica.stopReplication()
    await before.command('SET', key, 'value')
    await before.kill()
    await replica.promote()
    expect(await cluster.successorOf(before, key)).toBe(replica)
    expect(await replica.command('GET', key)).toBe(null)
  })

  it('moves a slot and its keys to another primary, step by step', async () => {
    const [one, other] = ['{slot}one', '{slot}other'] as const
    const move = await cluster.slotMove(one)
    for (const key of [one, other]) await move.source.command('SET', key, 'value')
    await move.begin()
    await move.carry(one)
    expect(await move.source.command('GET', other)).toBe('value')
    await expect(move.source.command('GET', one)).rejects.toThrow(/^ASK/)
    await move.carry()
    await expect(move.target.command('GET', other)).rejects.toThrow(/^MOVED/)
    await move.end()
    expect(await cluster.nodeOf(one)).toBe(move.target)
    expect(await move.target.command('MGET', one, other)).toEqual(['value', 'value'])
  })
})
