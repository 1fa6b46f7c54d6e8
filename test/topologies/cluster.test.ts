import type { LockerOptions } from '@leasehold/core'
import { waitForReplicas } from '@leasehold/core/redis'
import { type RedisCluster, type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { elapse, eventually, soak } from '../support/scale.ts'
import { type Connection, clients } from './clients.ts'
import { startCrew } from './crew.ts'
import { fencedWrites } from './fenced-writes.ts'
import { lossOf, renewalsAnswered } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A cluster of three primaries with a replica each, in short. The rest is in the soak. */

let cluster: RedisCluster
/** Names whose slots each primary had at the start, one for each client. */
let namesOf: readonly (readonly string[])[]
beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: 1 })
  namesOf = await Promise.all(cluster.nodes.map(namesOn))
})
afterAll(() => cluster.stop())

describe.each(clients.map((client, at) => ({ client, at, name: client.name })))(
  'on a cluster, over $name,',
  ({ client, at }) => {
    const open = (options: Partial<LockerOptions> = {}): Process =>
      openProcess(client.toCluster(cluster.nodes), options)

    it('every kind of work goes on through a failover, the move of its slot, and scripts that are forgotten', async () => {
      const [a, b] = [open(), open()]
      // A different primary for each client, as far as they go: a replica that has just taken over must not do so again
      // at once.
      const tag = namesOf[at % namesOf.length]?.[at] as string
      const crew = startCrew([a.locks, b.locks], tag)
      await crew.turns(3)
      await cluster.failOver(await cluster.nodeOf(`{${tag}}`))
      await crew.turns(3)
      const move = await cluster.slotMove(`{${tag}}`)
      await move.begin()
      await elapse(200)
      await move.carry()
      await move.end()
      await crew.turns(3)
      for (const node of cluster.nodes) await node.command('SCRIPT', 'FLUSH')
      await crew.turns(3)
      const { turns, faults } = await crew.stop()
      console.log(`turns of each kind: ${JSON.stringify(turns)}`)
      expect(faults).toEqual([])
      for (const { events } of [a, b]) expect(events.filter(({ type }) => type === 'lost')).toEqual([])
    })

    const ways: readonly (readonly [title: string, waits: boolean])[] = [
      ['a release on any node wakes a waiter that listens to one of them', false],
      ['with WAIT, a release on any node wakes a waiter, too', true],
    ]
    it.each(soak ? ways : ways.slice(0, 1))('%s', async (_, waits) => {
      const connect = (): Connection => {
        const connection = client.toCluster(cluster.nodes)
        return waits ? waitForReplicas(connection, { replicas: 1, timeout: '500ms' }) : connection
      }
      const [a, b] = [openProcess(connect()), openProcess(connect(), { recheck: '30s', wait: '20s' })]
      const keys = namesOf.map((names) => `{${names[at]}}wake-${waits}`)
      const held = await Promise.all(keys.map((key) => a.locks.acquire(key, { ttl: '30s' })))
      const waiting = keys.map((key) => b.locks.acquire(key))
      const listeners = await Promise.all(keys.map((key) => listenersOf(`lock:release:${key}`)))
      // All over one connection, to one node.
      expect(new Set(listeners).size).toBe(1)
      const releasedAtMs = performance.now()
      await Promise.all(held.map((lease) => lease.release()))
      for (const lease of await Promise.all(waiting)) await lease.release()
      // It would have checked by itself after 30 s.
      expect(performance.now() - releasedAtMs).toBeLessThan(5_000)
    })

    it('T-35: a lock that a failover loses is noticed at the next renewal, and the fence keeps its old holder out', async () => {
      const key = `{${namesOf[2]?.[at]}}t35`
      const connection = client.toCluster(cluster.nodes)
      const renewals = renewalsAnswered(connection.store, key)
      const [a, b] = [openProcess(connection, { ttl: '5s' }), open()]
      const primary = await cluster.nodeOf(`lock:${key}`)
      const [replica] = (await cluster.replicasOf(primary)) as [RedisServer]
      // The guarded data is on another node, and loses nothing.
      const writes = fencedWrites(await keyElsewhere(primary, `data-${client.name}`))
      await replica.stopReplication()
      const lease = await a.locks.acquire(key)
      const endFirst = writes.begin(a.transport, lease.fence)
      await eventually(() => writes.accepted.length > 2)

      await primary.kill()
      await replica.promote()
      await cluster.successorOf(primary, `lock:${key}`)
      const second = await b.locks.acquire(key, { wait: '10s' })
      expect(second.fence).toBeGreaterThan(lease.fence)
      const endSecond = writes.begin(b.transport, second.fence)
      expect(await lossOf(lease)).toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
      expect(renewals).toEqual(['superseded'])
      // The first holder does not look at its signal, and goes on.
      await eventually(() => writes.refused.length > 2)
      await Promise.all([endFirst(), endSecond()])
      expect(writes.accepted).toEqual(writes.accepted.toSorted((one, other) => one - other))
      expect(new Set(writes.accepted)).toEqual(new Set([lease.fence, second.fence]))
      expect(new Set(writes.refused)).toEqual(new Set([lease.fence]))
      expect(await lease.release()).toBe('superseded')
      expect(await second.release()).toBe('released')
      // It comes back as a replica, and brings nothing of the lost lock with it.
      await primary.restart()
      await eventually(async () => (await cluster.replicasOf(replica)).includes(primary))
      expect(await b.locks.isLocked(key)).toBe(false)
    })
  },
)

/** As many names as there are clients, all with slots on one primary. */
async function namesOn(node: RedisServer): Promise<readonly string[]> {
  const names: string[] = []
  for (let at = 0; names.length < clients.length; at++) {
    if ((await cluster.nodeOf(`{name-${at}}`)) === node) names.push(`name-${at}`)
  }
  return names
}

async function keyElsewhere(node: RedisServer, name: string): Promise<string> {
  for (let at = 0; ; at++) if ((await cluster.nodeOf(`${name}-${at}`)) !== node) return `${name}-${at}`
}

/** The port of the node with a subscriber of a channel. */
async function listenersOf(channel: string): Promise<number | undefined> {
  let port: number | undefined
  await eventually(async () => {
    for (const node of [...cluster.nodes, ...cluster.replicas]) {
      const [, count] = (await node.command('PUBSUB', 'NUMSUB', channel)) as [string, number]
      if (count > 0) port = node.port
    }
    return port !== undefined
  })
  return port
}
