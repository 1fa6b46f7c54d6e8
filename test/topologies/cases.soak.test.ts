import { createServer } from 'node:net'
import type { Locker } from '@leasehold/core'
import { acquireAll } from '@leasehold/core/many'
import { fifo } from '@leasehold/core/queue'
import { claimRecord } from '@leasehold/core/records'
import { semaphore } from '@leasehold/core/semaphore'
import { seededRandom } from '@leasehold/testkit'
import { connectRedisAdmin } from '@leasehold/testkit/redis'
import { describe, expect, it } from 'vitest'
import { elapse, eventually } from '../support/scale.ts'
import { startCrew } from './crew.ts'
import { lossOf } from './loss.ts'
import { openProcess } from './process.ts'
import { type Topology, topologies } from './topology.ts'

/* Cases T-36 to T-39 where there are several servers. T-35 is in the short files of this folder. */

const each = topologies.flatMap((kind) =>
  kind.clients.map((client) => ({ on: kind.name, over: client.name, kind, client })),
)

describe.each(each)('on $on, over $over,', ({ kind, client }) => {
  it('T-36: scripts that every server has forgotten are not missed, whatever is called', async () => {
    await using topology = await kind.start()
    const { locks, events } = openProcess(topology.connect(client))
    const forgotten = async (): Promise<Locker> => {
      for (const server of topology.servers) await server.command('SCRIPT', 'FLUSH')
      return locks
    }
    const lease = await (await forgotten()).acquire('t36', { ttl: '6s', wait: 0 })
    await forgotten()
    await lease.renew({ ttl: '7s' })
    expect(await (await forgotten()).tryAcquire('t36')).toBeNull()
    expect(await (await forgotten()).inspect('t36')).toMatchObject({ held: true, fence: lease.fence })
    const queued = await (await forgotten()).acquire('t36-queue', { queue: fifo(), wait: 0 })
    const permit = await semaphore(await forgotten(), 't36-pool', { permits: 2 }).acquire({ wait: 0 })
    const both = await acquireAll(await forgotten(), ['{t36}a', '{t36}b'], { wait: 0 })
    const claim = await claimRecord(await forgotten(), 't36-record', { fingerprint: 'same', wait: 0 })
    for (const held of [lease, queued, permit]) {
      await forgotten()
      expect(await held.release()).toBe('released')
    }
    await forgotten()
    await both.release()
    await forgotten()
    if (claim.type !== 'claimed') throw new Error(claim.type)
    expect(await claim.run.complete(new Uint8Array([1]))).toMatchObject({ type: 'completed' })
    expect(await (await forgotten()).revoke('t36')).toBe(false)
    expect(events.filter(({ type }) => type === 'lost' || type === 'renewal-unanswered')).toEqual([])
  })

  it('T-37: where nothing can be reached, each call ends in time and says so', async () => {
    const hole = createServer(() => undefined)
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
    const { port } = hole.address() as { port: number }
    // Nobody listens on the first.
    for (const at of [1, port]) {
      const { locks } = openProcess(kind.connectAt(client, [{ host: '127.0.0.1', port: at }]))
      const timed = async (call: Promise<unknown>, withinMs: number): Promise<void> => {
        const startedAtMs = performance.now()
        await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
        expect(performance.now() - startedAtMs).toBeLessThan(withinMs + 500)
      }
      await Promise.all([
        timed(locks.acquire('k', { wait: '3s' }), 3_000),
        timed(locks.tryAcquire('k'), 2_000),
        timed(locks.tryAcquire('k', { ttl: 300 }), 100),
        timed(locks.isLocked('k'), 2_000),
        timed(locks.revoke('k'), 2_000),
      ])
    }
    hole.close()
  })

  it('T-38: an evicted lock is noticed at the next renewal, which does not bring it back', async () => {
    await using topology = await kind.start(['--maxmemory', '12mb', '--maxmemory-policy', 'allkeys-random'])
    const { locks } = openProcess(topology.connect(client))
    const lease = await locks.acquire('{t38}', { ttl: '5s', wait: '20s' })
    const lost = lossOf(lease)
    const primary = await topology.primaryOf('lock:{t38}')
    const filler = 'x'.repeat(100_000)
    await eventually(async () => {
      for (let chunk = 0; chunk < 20; chunk++) await primary.command('SET', `{t38}fill-${Math.random()}`, filler)
      return (await primary.command('EXISTS', 'lock:{t38}')) === 0
    }, 60_000)
    expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(await primary.command('EXISTS', 'lock:{t38}')).toBe(0)
    expect(await lease.release()).toBe('expired')
  })

  it('T-39: connections cut at random moments leave only entries that expire, on replicas too', async () => {
    await using topology = await kind.start()
    const { random } = seededRandom()
    const crew = startCrew(
      [openProcess(topology.connect(client)).locks, openProcess(topology.connect(client)).locks],
      't39',
    )
    await crew.turns(2)
    for (let cut = 0; cut < 100; cut++) {
      for (const server of topology.servers) await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
      await elapse(random() * 60)
    }
    await crew.turns(2)
    const { turns } = await crew.stop()
    console.log(`turns of each kind: ${JSON.stringify(turns)}`)
    expect(await everyEntryExpires(topology)).toBeGreaterThan(0)
  })
})

/** How many entries there are. */
async function everyEntryExpires({ servers }: Topology): Promise<number> {
  let entries = 0
  for (const { port } of servers) {
    await using admin = await connectRedisAdmin({ port })
    // So that a replica of a cluster answers for its primary's keys. Elsewhere there is no such command.
    await admin.command('READONLY').catch(() => undefined)
    for (const key of (await admin.command('KEYS', '*')) as string[]) {
      entries++
      expect(Number(await admin.command('PTTL', key)), key).not.toBe(-1)
    }
  }
  return entries
}
