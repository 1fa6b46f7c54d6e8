import { createLocker, type Locker } from '@leasehold/core'
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clients, close } from '../test/clients.ts'
import { clusters } from '../test/clusters.ts'
import { type NodeRedisClient, nodeRedisBackend } from './index.ts'

// The essentials, over every version. The soak runs all claims over all versions.

let redis: RedisServer
let cluster: RedisCluster
beforeAll(async () => {
  ;[redis, cluster] = await Promise.all([startRedis(), startRedisCluster()])
})
afterAll(async () => {
  await redis.stop()
  await cluster.stop()
})

const all = [
  ...clients.map(({ name, create }) => ({
    name,
    open: () => create({ socket: { host: '127.0.0.1', port: redis.port } }) as Client,
  })),
  ...clusters.map(({ name, create }) => ({
    name: `${name}, cluster`,
    open: () => create({ rootNodes: cluster.nodes.map(({ host, port }) => ({ socket: { host, port } })) }) as Client,
  })),
]
type Client = NodeRedisClient & { connect(): Promise<unknown> }

describe.each(all)('over $name', ({ open }) => {
  it('locks exclude each other, rise in their fences, and are handed on within moments', {
    concurrent: true,
  }, async () => {
    const client = open()
    client.on('error', () => undefined)
    const lockers: Locker[] = ['one', 'two'].map((name) =>
      // Only the notifier can tell a waiter within the time of this test.
      createLocker({ ...nodeRedisBackend(client, { prefix: 'smoke:', name }), recheck: '1h', ttl: '1m' }),
    )
    const [one, two] = lockers as [Locker, Locker]
    // The first call waits for the connection.
    const first = one.acquire('k')
    client.connect().catch(() => undefined)
    const held = await first
    expect(await two.tryAcquire('k')).toBeNull()
    expect(await two.inspect('k')).toMatchObject({ held: true, holder: 'one' })
    let isHandedOn = false
    const next = two.acquire('k', { wait: '50s' }).then((lease) => {
      isHandedOn = true
      return lease
    })
    // The first waiter listens by now: the waiter of another key, which began later, does.
    const other = await one.acquire('other')
    const waiting = two.acquire('other', { wait: '50s' })
    await expect.poll(() => two.inspect('other')).toMatchObject({ held: true })
    expect(isHandedOn).toBe(false)
    expect(await held.release()).toBe('released')
    const lease = await next
    expect(lease.fence).toBeGreaterThan(held.fence)
    await other.release()
    await waiting
    for (const locker of lockers) await locker.close({ grace: 0 })
    await close(client)
  })
})
