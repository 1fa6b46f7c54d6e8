import { createServer } from 'node:net'
import type { Locker } from '@leasehold/core'
import { acquireAll } from '@leasehold/core/many'
import { fifo } from '@leasehold/core/queue'
import { claimRecord } from '@leasehold/core/records'
import { semaphore } from '@leasehold/core/semaphore'
import { seededRandom } from '@leasehold/testkit'
import { connectRedisAdmin } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { elapse, eventually, limit, ms, rounds, soak } from '../support/scale.ts'
import { startCrew } from './crew.ts'
import { lossOf } from './loss.ts'
import { openProcess } from './process.ts'
import { type Kind, type Topology, topologies } from './topology.ts'

/* Cases T-36 to T-39 where there are several servers. T-35 is in the other short files of this folder. */

/** One topology of each kind, for all cases and clients. */
const started = new Map<Kind, Topology>()
beforeAll(async () => {
  await Promise.all(topologies.map(async (kind) => started.set(kind, await kind.start())))
})
afterAll(async () => {
  for (const topology of started.values()) await topology.stop()
})
const running = (kind: Kind): Topology => started.get(kind) as Topology

/** The soak takes times literally, so nothing else runs beside it. */
const together = soak ? it : it.concurrent

const each = topologies.flatMap((kind) =>
  kind.clients.map((client) => ({ on: kind.name, over: client.name, kind, client })),
)

together.for(each)(
  'T-36: on $on, over $over, scripts that every server has forgotten are not missed, whatever is called',
  async ({ kind, client }, { onTestFinished }) => {
    const topology = running(kind)
    const { locks, events } = openProcess(topology.connect(client), {}, onTestFinished)
    const forgotten = async (): Promise<Locker> => {
      for (const server of topology.servers) await server.command('SCRIPT', 'FLUSH')
      return locks
    }
    const key = `t36-${client.name}`
    const lease = await (await forgotten()).acquire(key, { ttl: '6s', wait: 0 })
    await forgotten()
    await lease.renew({ ttl: '7s' })
    expect(await (await forgotten()).tryAcquire(key)).toBeNull()
    expect(await (await forgotten()).inspect(key)).toMatchObject({ held: true, fence: lease.fence })
    const queued = await (await forgotten()).acquire(`${key}-queue`, { queue: fifo(), wait: 0 })
    const permit = await semaphore(await forgotten(), `${key}-pool`, { permits: 2 }).acquire({ wait: 0 })
    const both = await acquireAll(await forgotten(), [`{${key}}a`, `{${key}}b`], { wait: 0 })
    const claim = await claimRecord(await forgotten(), `${key}-record`, { fingerprint: 'same', wait: 0 })
    for (const held of [lease, queued, permit]) {
      await forgotten()
      expect(await held.release()).toBe('released')
    }
    await forgotten()
    await both.release()
    await forgotten()
    if (claim.type !== 'claimed') throw new Error(claim.type)
    expect(await claim.run.complete(new Uint8Array([1]))).toMatchObject({ type: 'completed' })
    expect(await (await forgotten()).revoke(key)).toBe(false)
    expect(events.filter(({ type }) => type === 'lost' || type === 'renewal-unanswered')).toEqual([])
  },
)

together.for(each)(
  'T-37: on $on, over $over, where nothing can be reached, each call ends in time and says so',
  async ({ kind, client }, { onTestFinished }) => {
    const hole = createServer(() => undefined)
    await new Promise<void>((resolve) => hole.listen(0, '127.0.0.1', resolve))
    const { port } = hole.address() as { port: number }
    const timed = async (call: Promise<unknown>, withinMs: number): Promise<void> => {
      const startedAtMs = performance.now()
      await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(performance.now() - startedAtMs).toBeLessThan(withinMs + limit(500))
    }
    // Nobody listens on the first.
    const calls = [1, port].flatMap((at) => {
      const { locks } = openProcess(kind.connectAt(client, [{ host: '127.0.0.1', port: at }]), {}, onTestFinished)
      return [
        timed(locks.acquire('k', { wait: '3s' }), 3_000),
        timed(locks.tryAcquire('k'), 2_000),
        timed(locks.tryAcquire('k', { ttl: 300 }), 100),
        timed(locks.isLocked('k'), 2_000),
        timed(locks.revoke('k'), 2_000),
      ]
    })
    await Promise.all(calls)
    hole.close()
  },
)

describe('where memory is short,', () => {
  const atMost = (memory: string) => () =>
    Promise.all(
      topologies.map(async (kind) => {
        const primary = await running(kind).primaryOf('lock:{t38}')
        await primary.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random', 'maxmemory', memory)
      }),
    )
  beforeAll(atMost('12mb'))
  afterAll(atMost('0'))

  together.for(each)(
    'T-38: on $on, over $over, an evicted lock is noticed at the next renewal, which does not bring it back',
    async ({ kind, client }, { onTestFinished }) => {
      const topology = running(kind)
      const { locks } = openProcess(topology.connect(client), {}, onTestFinished)
      const key = `{t38}${client.name}`
      const lease = await locks.acquire(key, { ttl: ms(5_000, 3_000), wait: '20s' })
      const lost = lossOf(lease)
      const primary = await topology.primaryOf(`lock:${key}`)
      const filler = 'x'.repeat(100_000)
      await eventually(async () => {
        for (let chunk = 0; chunk < 20; chunk++) {
          await primary.command('SET', `{t38}fill-${Math.random()}`, filler, 'PX', 60_000)
        }
        return (await primary.command('EXISTS', `lock:${key}`)) === 0
      }, 60_000)
      expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
      expect(await primary.command('EXISTS', `lock:${key}`)).toBe(0)
      expect(await lease.release()).toBe('expired')
    },
  )
})

// All clients at once: cutting connections cuts everybody's.
together.for(topologies)(
  'T-39: on $name, connections cut at random moments leave only entries that expire, on replicas too',
  async (kind, { onTestFinished }) => {
    const topology = running(kind)
    const { random } = seededRandom()
    const crews = kind.clients.map((client) => {
      const open = (): Locker => openProcess(topology.connect(client), {}, onTestFinished).locks
      return { name: client.name, crew: startCrew([open(), open()], `t39-${client.name}`, ms(10_000)) }
    })
    const turns = (): Promise<unknown> => Promise.all(crews.map(({ crew }) => crew.turns(2)))
    await turns()
    for (let cut = 0; cut < rounds(100, 15); cut++) {
      for (const server of topology.servers) await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
      await elapse(random() * 60)
    }
    await turns()
    for (const { name, crew } of crews) console.log(`turns on ${kind.name}, over ${name}:`, (await crew.stop()).turns)
    expect(await everyEntryExpires(topology)).toBeGreaterThan(0)
  },
)

/** Checks that every entry expires; returns how many there are. */
async function everyEntryExpires({ servers }: Topology): Promise<number> {
  let entries = 0
  for (const { port } of servers) {
    await using admin = await connectRedisAdmin({ port })
    // So that a cluster replica answers for its primary's keys. Elsewhere there is no such command.
    await admin.command('READONLY').catch(() => undefined)
    for (const key of (await admin.command('KEYS', '*')) as string[]) {
      entries++
      expect(Number(await admin.command('PTTL', key)), key).not.toBe(-1)
    }
  }
  return entries
}
