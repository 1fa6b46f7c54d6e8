import { once } from 'node:events'
import { createLocker, type Lease, type Locker, type LockerEvent } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { redisStore } from '@leasehold/core/redis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ioredisBackend, ioredisTransport, waitForReplicas } from './index.ts'

let primary: RedisServer
let replica: RedisServer
beforeAll(async () => {
  primary = await startRedis()
  replica = await startRedis({ replicaOf: primary })
  // A new replica confirms nothing before its first report, which it makes once a second.
  expect(await primary.replicatedTo(1)).toBe(1)
})
afterAll(() => Promise.all([replica.stop(), primary.stop()]))

interface Opened {
  readonly locks: Locker
  readonly client: Redis
  readonly events: LockerEvent[]
  close(): Promise<void>
}

function open({ timeout = 50, ttl = 900 } = {}): Opened {
  const client = new Redis(primary.port, { retryStrategy: () => 1 })
  client.on('error', () => undefined)
  const events: LockerEvent[] = []
  const backend = waitForReplicas(ioredisBackend(client), { replicas: 1, timeout })
  const locks = createLocker({ ...backend, ttl, onEvent: (event) => events.push(event) })
  const close = async (): Promise<void> => {
    await locks.close({ grace: 0 })
    client.disconnect()
  }
  return { locks, client, events, close }
}
const stored = (key: string): Promise<unknown> => primary.command('EXISTS', `lock:${key}`)

describe('waitForReplicas', () => {
  let opened: Opened
  beforeEach(async () => {
    opened = open()
    await opened.locks.isLocked('connected')
  })
  afterEach(() => opened.close())

  it('grants what a replica has by then: the lock, and the fence record beside it', async () => {
    const lease = await opened.locks.acquire('granted')
    expect(await replica.command('GET', 'lock:granted')).toBe(lease.token)
    expect(await replica.command('GET', '{lock:granted}:fence')).toContain(String(lease.fence).slice(0, 12))
    await lease.renew({ ttl: '1h' })
    expect(await replica.command('PTTL', 'lock:granted')).toBeGreaterThan(3_590_000)
    expect(await lease.release()).toBe('released')
  })

  it('does not take the answer of another server, to which the client connects anew, for that of the first', async () => {
    await using other = await startRedis()
    await using _its = await startRedis({ replicaOf: other })
    expect(await other.replicatedTo(1)).toBe(1)
    const { locks, client, close } = open({ timeout: 500, ttl: 6_000 })
    await locks.isLocked('moved')
    replica.pause()
    const acquiring = locks.acquire('moved')
    await expect.poll(() => stored('moved')).toBe(1)
    // As after a failover. The client resends the WAIT, and the other server's replica has all that this one wrote.
    client.options.port = other.port
    client.disconnect(true)
    const lease = await acquiring
    expect(await other.command('GET', 'lock:moved')).toBe(lease.token)
    await lease.release()
    replica.resume()
    await close()
  })

  describe('while no replica confirms', () => {
    let before: Opened
    let held: Lease
    let renewed: Lease
    beforeAll(async () => {
      before = open()
      held = await before.locks.acquire('held', { ttl: '1m' })
      renewed = await before.locks.acquire('renewed')
      await replica.stopReplication()
    })
    afterAll(() => before.close())

    it('refuses a grant, with the number of those that confirmed, and gives it back', async () => {
      const { locks } = opened
      const calls = [locks.tryAcquire('refused', { ttl: '3s' }), locks.acquire('in-vain', { ttl: '3s', wait: '600ms' })]
      const refusals = (await Promise.allSettled(calls)) as PromiseRejectedResult[]
      for (const { reason } of refusals) {
        expect(reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
      }
      // The last attempt reported may be one that the end of the wait cut short.
      const causes = refusals.map(({ reason }) => String((reason as Error).cause))
      expect(causes).toContainEqual(expect.stringContaining('NOREPLICAS 0 of 1 replicas confirmed within 50 ms'))
      await expect.poll(() => Promise.all([stored('refused'), stored('in-vain')])).toEqual([0, 0])
    })

    it('loses a lease whose renewals are not confirmed, and says why', async () => {
      if (!renewed.signal.aborted) await once(renewed.signal, 'abort')
      expect(renewed.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
      expect(before.events.map(({ type }) => type)).toContain('renewal-unanswered')
      expect(String((renewed.signal.reason as Error).cause)).toContain('NOREPLICAS')
    })

    it('still tells a caller that the lock is held, and takes a lease back', async () => {
      expect(await opened.locks.tryAcquire('held')).toBeNull()
      await expect(opened.locks.acquire('held', { wait: '300ms' })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
      expect(await held.release()).toBe('released')
    })

    it('grants within the wait once enough are back', async () => {
      const waiting = opened.locks.acquire('later', { wait: '20s', ttl: '20s' })
      await expect.poll(() => stored('later')).toBe(1)
      await replica.resumeReplication()
      const lease = await waiting
      expect(await replica.command('GET', 'lock:later')).toBe(lease.token)
      await lease.release()
    })
  })

  it('refuses by name what it cannot do', () => {
    const client = new Redis({ lazyConnect: true })
    const backend = ioredisBackend(client)
    const of = (options: object) => () => waitForReplicas(backend, options as { replicas: number })
    for (const replicas of [0, 1.5, -1, '1'])
      expect(of({ replicas })).toThrow(expect.objectContaining({ option: 'replicas' }))
    for (const timeout of ['501ms', 0, 'soon']) {
      expect(of({ replicas: 1, timeout })).toThrow(expect.objectContaining({ option: 'timeout' }))
    }
    expect(of({ replicas: 1, quorum: 2 })).toThrow(expect.objectContaining({ option: 'quorum' }))
    const others = [{ store: memoryStore() }, { store: redisStore({ ...ioredisTransport(client) }) }]
    for (const other of others) {
      expect(() => waitForReplicas(other, { replicas: 1 })).toThrow(expect.objectContaining({ option: 'backend' }))
    }
    client.disconnect()
  })
})
