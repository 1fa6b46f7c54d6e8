import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisCluster, startRedisCluster } from './redis-cluster.ts'

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
