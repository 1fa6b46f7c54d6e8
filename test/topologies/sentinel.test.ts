import type { LockerOptions } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { fifo } from '@leasehold/core/queue'
import { ioredisTransport } from '@leasehold/ioredis'
import { type RedisSentinel, type RedisServer, startRedis, startRedisSentinel } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ms } from '../support/scale.ts'
import { sentinelClients } from './clients.ts'
import { lossOf } from './loss.ts'
import { openProcess, type Process } from './process.ts'

/* A primary with two replicas and three Sentinels, in short. The rest is in the soak. */

describe.each(sentinelClients)('under Sentinels, over $name,', (client) => {
  let redis: RedisSentinel
  let resource: RedisServer
  beforeAll(async () => {
    ;[redis, resource] = await Promise.all([startRedisSentinel(), startRedis()])
  })
  afterAll(() => Promise.all([redis.stop(), resource.stop()]))
  const open = (options: Partial<LockerOptions> = {}): Process =>
    openProcess(client.toSentinel(redis.sentinels, redis.name), options)

  it('T-35: after a crash, leases go on that a replica had, and those it had not are noticed as lost', async () => {
    const [a, b] = [open({ ttl: '20s' }), open({ wait: '20s', recheck: '30s' })]
    const primary = await redis.primary()
    const [kept, queued] = await Promise.all([a.locks.acquire('kept'), a.locks.acquire('queued', { queue: fifo() })])
    const next = [b.locks.acquire('kept'), b.locks.acquire('queued', { queue: fifo() })]
    // The waiters have asked, and the replicas have all of it.
    await expect.poll(() => b.events.filter(({ type }) => type === 'contended').length).toBe(2)
    expect(await primary.replicatedTo(2)).toBe(2)
    const replicas = await redis.replicas()
    await Promise.all(replicas.map((replica) => replica.stopReplication()))
    const lost = await a.locks.acquire('lost', { ttl: ms(10_000) })
    const guarded = new Redis(resource.port)
    const data = ioredisTransport(guarded)
    expect(await guardedSet(data, 'data', 'from a', { fence: lost.fence })).toEqual({ stored: true })

    await primary.kill()
    // From their new primary they may learn.
    await Promise.all(replicas.map((replica) => replica.resumeReplication()))
    await redis.successorOf(primary)
    const second = await b.locks.acquire('lost')
    expect(second.fence).toBeGreaterThan(lost.fence)
    expect(await guardedSet(data, 'data', 'from b', { fence: second.fence })).toEqual({ stored: true })
    expect(await lossOf(lost)).toMatchObject({ code: 'LEASE_LOST' })
    expect(await guardedSet(data, 'data', 'late', { fence: lost.fence })).toMatchObject({ stored: false })

    for (const lease of [kept, queued]) {
      await lease.renew({ ttl: '21s' })
      expect(await lease.release()).toBe('released')
    }
    for (const lease of await Promise.all(next)) expect(await lease.release()).toBe('released')
    expect(await second.release()).toBe('released')
    guarded.disconnect()
  })
})
