import type { Lease, LeaseLostError, LockerOptions } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { type RedisTransport, waitForReplicas } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { type RedisSentinel, type RedisServer, startRedis, startRedisSentinel } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/scale.ts'
import { type Connection, sentinelClients as clients } from './clients.ts'
import { type FencedWrites, fencedWrites } from './fenced-writes.ts'
import { lossOf, renewalsAnswered } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A primary with two replicas and three Sentinels, in short: one crash for all clients. The rest is in the soak. */

/** What a client held when the primary died, and who waited for it. */
interface Scene {
  readonly a: Process
  readonly b: Process
  /** Leases that the replicas had. */
  readonly kept: readonly Lease[]
  readonly next: readonly Promise<Lease>[]
  /** The lease that both replicas had confirmed before it was granted. */
  readonly waited: Lease
  /** What another call was told that no replica confirmed. */
  readonly refusal: unknown
  /** The lease that no replica had. Its holder writes until it is told to stop. */
  readonly lost: Lease
  readonly renewalsOfLost: readonly string[]
  readonly writes: FencedWrites
  endWrites(): Promise<void>
}

let redis: RedisSentinel
/** Where the guarded data is. */
let resource: RedisServer
const scenes = new Map<unknown, Scene>()
const ends: (() => unknown)[] = []

beforeAll(async () => {
  ;[redis, resource] = await Promise.all([startRedisSentinel(), startRedis()])
  const primary = await redis.primary()
  expect(await primary.replicatedTo(2)).toBe(2)
  const held = await Promise.all(clients.map(hold))
  expect(await primary.replicatedTo(2)).toBe(2)
  const replicas = await redis.replicas()
  await Promise.all(replicas.map((replica) => replica.stopReplication()))
  const lost = await Promise.all(clients.map((client, at) => lose(client, held[at] as Held)))
  for (const [at, client] of clients.entries()) scenes.set(client, { ...(held[at] as Held), ...(lost[at] as Lost) })
  await primary.kill()
  // They may replicate from their new primary.
  await Promise.all(replicas.map((replica) => replica.resumeReplication()))
  await redis.successorOf(primary)
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await Promise.all([redis.stop(), resource.stop()])
})

type Client = (typeof clients)[number]
type Lost = Pick<Scene, 'refusal' | 'lost' | 'renewalsOfLost' | 'writes' | 'endWrites'>
type Held = Omit<Scene, keyof Lost> & { readonly waiting: Process }

const connect = (client: Client): Connection => client.toSentinel(redis.sentinels, redis.name)
const open = (connection: Connection, options: Partial<LockerOptions>): Process =>
  openProcess(connection, options, (end) => ends.push(end))

async function hold(client: Client): Promise<Held> {
  const [a, b] = [open(connect(client), { ttl: '20s' }), open(connect(client), { wait: '20s', recheck: '30s' })]
  const waiting = open(waitForReplicas(connect(client), { replicas: 2, timeout: '200ms' }), { ttl: '20s' })
  const [plain, queued] = [`kept-${client.name}`, `queued-${client.name}`]
  const kept = [await a.locks.acquire(plain), await a.locks.acquire(queued, { queue: fifo() })]
  const next = [b.locks.acquire(plain), b.locks.acquire(queued, { queue: fifo() })]
  await eventually(() => b.events.filter(({ type }) => type === 'contended').length === 2)
  return { a, b, waiting, kept, next, waited: await waiting.locks.acquire(`waited-${client.name}`) }
}

/** While the replicas are cut off. */
async function lose(client: Client, { waiting }: Held): Promise<Lost> {
  const refusal = await waiting.locks.tryAcquire(`refused-${client.name}`, { ttl: '2s' }).catch((error) => error)
  const key = `lost-${client.name}`
  const connection = connect(client)
  const renewalsOfLost = renewalsAnswered(connection.store, key)
  // The Sentinels have replaced the primary by the time of its second renewal, or of the first.
  const lost = await open(connection, {}).locks.acquire(key, { ttl: '10s' })
  const writes = fencedWrites(`data-${client.name}`)
  const endWrites = writes.begin(toResource(), lost.fence)
  ends.push(endWrites)
  await eventually(() => writes.accepted.length > 2)
  return { refusal, lost, renewalsOfLost, writes, endWrites }
}

/** A connection to the guarded data. */
function toResource(): RedisTransport {
  const connection = new Redis(resource.port)
  ends.push(() => connection.disconnect())
  return ioredisTransport(connection)
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
    const { b, lost, renewalsOfLost, writes, endWrites } = scene()
    const second = await b.locks.acquire(`lost-${client.name}`)
    expect(second.fence).toBeGreaterThan(lost.fence)
    const endSecond = writes.begin(toResource(), second.fence)
    const loss = await lossOf(lost)
    expect(loss).toMatchObject({ code: 'LEASE_LOST', reason: expect.stringMatching(/^(gone|superseded)$/) })
    expect(renewalsOfLost).toEqual([(loss as LeaseLostError).reason])
    // The first holder does not look at its signal, and goes on.
    await eventually(() => writes.refused.length > 2)
    await Promise.all([endWrites(), endSecond()])
    expect(writes.accepted).toEqual(writes.accepted.toSorted((one, other) => one - other))
    expect(new Set(writes.accepted)).toEqual(new Set([lost.fence, second.fence]))
    expect(new Set(writes.refused)).toEqual(new Set([lost.fence]))
    expect(await second.release()).toBe('released')
  })

  it('with WAIT, a grant is there that both replicas had confirmed, and what none confirmed was refused', async () => {
    const { waited, refusal } = scene()
    const successor = await redis.primary()
    expect(await successor.command('GET', `lock:${waited.key}`)).toBe(waited.token)
    expect(await waited.release()).toBe('released')
    expect(refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(String((refusal as Error).cause)).toContain('NOREPLICAS 0 of 2 replicas confirmed')
  })
})
