import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { startTcpProxy, type TcpProxy } from '@leasehold/testkit'
import { type RedisCluster, startRedisCluster } from '@leasehold/testkit/redis'
import { Cluster } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { quiet } from '../support/quiet.ts'

/*
 * On a cluster, a command is for one hash tag. The commands of one turn leave in one write to each node, and no node
 * waits for another.
 */

let cluster: RedisCluster
let proxies: readonly TcpProxy[]
let client: Cluster
let locks: Locker
/** Some keys of each node. */
let keysOf: readonly (readonly string[])[]
beforeAll(async () => {
  cluster = await startRedisCluster()
  const byNode = new Map(cluster.nodes.map((node) => [node, [] as string[]]))
  for (let index = 0; [...byNode.values()].some((keys) => keys.length < 10); index++) {
    const keys = byNode.get(await cluster.nodeOf(`lock:k${index}`))
    if (keys && keys.length < 10) keys.push(`k${index}`)
  }
  keysOf = [...byNode.values()]
})
afterAll(() => cluster.stop())
beforeEach(async () => {
  proxies = await Promise.all(cluster.nodes.map(startTcpProxy))
  const natMap = Object.fromEntries(
    cluster.nodes.map(({ host, port }, node) => [`${host}:${port}`, { host, port: proxies[node]?.port as number }]),
  )
  client = quiet(new Cluster(Object.values(natMap), { natMap }))
  locks = createLocker({ store: ioredisStore(client) })
  // So that each node is connected and knows the scripts.
  for (const lease of await Promise.all(keysOf.map(([key = '']) => locks.acquire(key)))) await lease.release()
})
afterEach(async () => {
  await locks.close({ grace: 0 })
  client.disconnect()
  await Promise.all(proxies.map((proxy) => proxy.stop()))
})

const stored = async (): Promise<unknown[]> =>
  (await Promise.all(cluster.nodes.map((node) => node.command('KEYS', 'lock:*')))).flat()

/** The number of writes while a task runs, for each node that was written to. */
async function writesDuring(task: () => Promise<unknown>): Promise<number[]> {
  const spies = client.nodes('all').map(({ stream }) => [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev')])
  await task()
  const counts = spies.map((both) => both.reduce((sum, { mock }) => sum + mock.calls.length, 0))
  for (const spy of spies.flat()) spy.mockRestore()
  return counts.filter((count) => count > 0)
}

it('acquires of one turn on keys of all nodes are one write to each node, and so are their releases', async () => {
  const keys = [...keysOf].flat()
  let leases: readonly Lease[] = []
  const acquiring = async (): Promise<unknown> => (leases = await Promise.all(keys.map((key) => locks.acquire(key))))
  expect(await writesDuring(acquiring)).toEqual([1, 1, 1])
  expect(leases.every((lease) => lease.commands === 1 && lease.remaining() > 0)).toBe(true)
  expect(await writesDuring(() => Promise.all(leases.map((lease) => lease.release())))).toEqual([1, 1, 1])
  expect(await stored()).toEqual([])
})

it('a silent node costs only its own keys their answer', async () => {
  const [silent, ...answering] = keysOf as readonly (readonly string[])[]
  proxies[0]?.blackHole()
  const began = performance.now()
  const failing = Promise.allSettled((silent ?? []).map((key) => locks.tryAcquire(key, { ttl: '6s' })))
  const leases = await Promise.all(answering.flat().map((key) => locks.acquire(key, { ttl: '6s' })))
  const grantedMs = performance.now() - began
  expect(leases.every((lease) => lease.commands === 1 && lease.remaining() > 0)).toBe(true)
  const failures = await failing
  // All were asked in one turn, and these were answered before half the total time was over.
  expect(grantedMs).toBeLessThan((performance.now() - began) / 2)
  for (const failure of failures) {
    expect(failure).toMatchObject({ reason: { code: 'STORE_UNAVAILABLE', executed: 'unknown' } })
  }
  expect(new Set(await Promise.all(leases.map((lease) => lease.release())))).toEqual(new Set(['released']))
  proxies[0]?.restore()
  await locks.close({ grace: '5s' })
  expect(await stored()).toEqual([])
})
