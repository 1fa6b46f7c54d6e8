import type { Lease } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { fifo } from '@leasehold/core/queue'
import { ioredisTransport } from '@leasehold/ioredis'
import { type RedisSentinel, type RedisServer, startRedis, startRedisSentinel } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, ms } from '../support/scale.ts'
import { sentinelClients as clients } from './clients.ts'
import { lossOf } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A primary with two replicas and three Sentinels, in short: one crash for all clients. The rest is in the soak. */

/** What a client held when the primary died, and who waited for it. */
interface Scene {
  readonly a: Process
  readonly b: Process
  /** Leases that the replicas had. */
  readonly kept: readonly Lease[]
  readonly next: readonly Promise<Lease>[]
  /** The lease that no replica had. */
  readonly lost: Lease
}

let redis: RedisSentinel
/** Where the guarded data is. */
let resource: RedisServer
const scenes = new Map<unknown, Scene>()
const ends: (() => unknown)[] = []

beforeAll(async () => {
  ;[redis, resource] = await Promise.all([startRedisSentinel(), startRedis()])
  const begun = await Promise.all(clients.map(begin))
  const primary = await redis.primary()
  expect(await primary.replicatedTo(2)).toBe(2)
  const replicas = await redis.replicas()
  await Promise.all(replicas.map((replica) => replica.stopReplication()))
  for (const [at, client] of clients.entries()) {
    const scene = begun[at] as Omit<Scene, 'lost'>
    scenes.set(client, { ...scene, lost: await scene.a.locks.acquire(`lost-${client.name}`, { ttl: ms(10_000) }) })
  }
  await primary.kill()
  // They may replicate from their new primary.
  await Promise.all(replicas.map((replica) => replica.resumeReplication()))
  await redis.successorOf(primary)
})
afterAll(async () => {
  for (const end of ends) await end()
  await Promise.all([redis.stop(), resource.stop()])
})

async function begin(client: (typeof clients)[number]): Promise<Omit<Scene, 'lost'>> {
  const connect = () => client.toSentinel(redis.sentinels, redis.name)
  const [a, b] = [
    openProcess(connect(), { ttl: '20s' }, (end) => ends.push(end)),
    openProcess(connect(), { wait: '20s', recheck: '30s' }, (end) => ends.push(end)),
  ]
  const [plain, queued] = [`kept-${client.name}`, `queued-${client.name}`]
  const kept = [await a.locks.acquire(plain), await a.locks.acquire(queued, { queue: fifo() })]
  const next = [b.locks.acquire(plain), b.locks.acquire(queued, { queue: fifo() })]
  await eventually(() => b.events.filter(({ type }) => type === 'contended').length === 2)
  return { a, b, kept, next }
}

describe.each(clients)('after a crash under Sentinels, over $name,', (client) => {
  const scene = (): Scene => scenes.get(client) as Scene

  it('leases go on that a replica had, and their waiters get them in turn', async () => {
    const { a, kept, next } = scene()
    for (const lease of kept) {
      await lease.renew({ ttl: '21s' })
      expect(await lease.release()).toBe('released')
    }
    for (const lease of await Promise.all(next)) expect(await lease.release()).toBe('released')
    expect(a.events.filter((event) => event.type === 'lost' && event.key.startsWith('kept'))).toEqual([])
  })

  it('T-35: a lock that no replica had is noticed as lost, and the fence keeps its old holder out', async () => {
    const { b, lost } = scene()
    const connection = new Redis(resource.port)
    const [data, name] = [ioredisTransport(connection), `data-${client.name}`]
    const second = await b.locks.acquire(`lost-${client.name}`)
    expect(second.fence).toBeGreaterThan(lost.fence)
    expect(await guardedSet(data, name, 'from b', { fence: second.fence })).toEqual({ stored: true })
    expect(await lossOf(lost)).toMatchObject({ code: 'LEASE_LOST' })
    expect(await guardedSet(data, name, 'late', { fence: lost.fence })).toMatchObject({ stored: false })
    expect(await second.release()).toBe('released')
    connection.disconnect()
  })
})
