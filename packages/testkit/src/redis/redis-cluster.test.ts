import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisCluster, startRedisCluster } from './redis-cluster.ts'
import type { RedisServer } from './redis-server.ts'

describe('startRedisCluster', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster({ nodes: 3 })
  })
  afterAll(() => cluster.stop())

  it('forms a cluster in which every slot has a primary', async () => {
    for (const node of cluster.nodes) {
      const ranges = (await node.command('CLUSTER', 'SLOTS')) as [number, number, [string, number, ...unknown[]]][]
      expect(ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)).toBe(16_384)
      expect(new Set(ranges.map(([, , [host, port]]) => `${host}:${port}`))).toEqual(
        new Set(cluster.nodes.map(({ host, port }) => `${host}:${port}`)),
      )
    }
  })

  it('knows which node has a key', async () => {
    for (let index = 0; index < 20; index++) {
      const key = `key-${index}`
      const node = await cluster.nodeOf(key)
      expect(await node.command('SET', key, index)).toBe('OK')
      const [other] = cluster.nodes.filter((each) => each !== node)
      await expect(other?.command('GET', key)).rejects.toThrow(/^MOVED/)
    }
  })

  it('takes a node back after a crash', async () => {
    const node = await cluster.nodeOf('key')
    await node.kill()
    await node.restart()
    await expect.poll(() => node.command('CLUSTER', 'INFO'), { timeout: 15_000 }).toContain('cluster_state:ok')
    expect(await node.command('SET', 'key', 'again')).toBe('OK')
  })
})

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
