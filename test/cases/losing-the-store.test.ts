import { createLocker, type Lease } from '@leasehold/core'
import { guardedSet } from '@leasehold/core/fencing'
import { ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { eventually, ms } from '../support/scale.ts'

const loss = (lease: Lease): Promise<unknown> =>
  new Promise((resolve) => {
    if (lease.signal.aborted) resolve(lease.signal.reason)
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason))
  })

it('T-35: a lock lost in a failover is noticed, and the fence protects what it guarded', async () => {
  await using arena = await redisArena()
  await using link = await startTcpProxy({ port: arena.server.port })
  const replica = await startRedis({ replicaOf: link })
  // Replication stops: what is written from now on never reaches the replica.
  link.refuse()
  link.cut()
  const connectionA = quiet(new Redis({ port: arena.server.port, retryStrategy: () => 20 }))
  const options = { prefix: arena.prefix }
  const a = createLocker({ store: ioredisStore(connectionA, options), ttl: ms(5_000) })
  const lease = await a.acquire('t35')

  await arena.server.kill()
  await replica.command('REPLICAOF', 'NO', 'ONE')
  // The address stays the same, as with a virtual address or a Sentinel.
  connectionA.options.port = replica.port
  connectionA.disconnect(true)

  const connectionB = quiet(new Redis(replica.port))
  const b = createLocker({ store: ioredisStore(connectionB, options) })
  const second = await b.acquire('t35', { wait: '5s' })
  expect(second.fence).toBeGreaterThan(lease.fence as number)
  const data = ioredisTransport(connectionB)
  expect(await guardedSet(data, 'data', 'from b', { fence: second.fence })).toEqual({ stored: true })
  expect(await loss(lease)).toMatchObject({
    code: 'LEASE_LOST',
    reason: expect.stringMatching(/superseded|unreachable/),
  })
  expect(await guardedSet(data, 'data', 'from a', { fence: lease.fence })).toMatchObject({ stored: false })
  expect(await replica.command('GET', 'data')).toBe('from b')
  await second.release()
  await Promise.all([a.close({ grace: 0 }), b.close({ grace: 0 })])
  connectionA.disconnect()
  connectionB.disconnect()
  await replica.stop()
}, 60_000)

it('T-38: an evicted lock is noticed at the next renewal, which does not bring it back', async () => {
  await using arena = await redisArena(['--maxmemory', '8mb', '--maxmemory-policy', 'allkeys-random'])
  const lease = await arena.client().acquire('t38', { ttl: ms(5_000, 3_000) })
  const lost = loss(lease)
  const filler = 'x'.repeat(100_000)
  await eventually(async () => {
    for (let chunk = 0; chunk < 20; chunk++) await arena.command('SET', `fill-${Math.random()}`, filler)
    return (await arena.command('EXISTS', `${arena.prefix}t38`)) === 0
  }, 40_000)
  expect(await lost).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
  expect(await arena.command('EXISTS', `${arena.prefix}t38`)).toBe(0)
  expect(await lease.release()).toBe('expired')
}, 90_000)
