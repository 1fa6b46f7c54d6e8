import { createLocker, type Locker, type LockerEvent } from '@leasehold/core'
import { type RedisTransport, redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'

/*
 * Something on the way sends every request twice, as runtimes and proxies do with a POST, and delivers the second
 * answer: each request meets its own effect, and no client can see it.
 */

let arena: RedisArena
let connection: Redis
let locks: Locker
let others: Locker
let events: LockerEvent[]
/**
 * What happens to the lock before the first copy of a call, and before the second, depending on what the call
 * announces.
 */
let before: (announces: string | undefined) => Promise<unknown>
let between: (announces: string | undefined) => Promise<unknown>

beforeAll(async () => {
  arena = await redisArena()
  connection = new Redis(arena.server.port, arena.server.host)
  connection.on('error', () => undefined)
  const way = ioredisTransport(connection)
  const twice: RedisTransport = {
    ...way,
    async run(calls, signal) {
      await before(calls[0]?.args[0])
      const first = await way.run(calls, signal)
      // A server that needs the script's text first has done nothing yet.
      if (first.some((reply) => reply.type !== 'value')) return first
      await between(calls[0]?.args[0])
      return way.run(calls, signal)
    },
  }
  locks = createLocker({
    store: redisStore(twice, { prefix: arena.prefix }),
    name: 'twice',
    onEvent: (event) => events.push(event),
  })
  others = arena.client({ name: 'others' })
})
afterAll(async () => {
  await locks.close({ grace: 0 })
  connection.disconnect()
  await arena[Symbol.asyncDispose]()
})
beforeEach(() => {
  events = []
  before = async () => undefined
  between = async () => undefined
})

const told = (): readonly string[] => events.map(({ type }) => type)
const lost = (reason: string) => expect.objectContaining({ code: 'LEASE_LOST', reason, result: 'done' })

describe('when every request is carried out twice', () => {
  it('withLock gives the result of its work', async () => {
    for (let round = 0; round < 3; round++) expect(await locks.withLock('plain', () => round)).toBe(round)
    expect(told()).not.toContain('lost')
    expect(events.flatMap((event) => (event.type === 'released' ? [event.outcome] : []))).toEqual([
      'released',
      'released',
      'released',
    ])
  })

  it('a lease is granted once, renewed, and released, which is no loss', async () => {
    const lease = await locks.acquire('life', { ttl: '10s' })
    expect(await others.inspect('life')).toMatchObject({ holder: 'twice', fence: lease.fence })
    await lease.renew({ ttl: '30s' })
    expect(lease.remaining()).toBeGreaterThan(10_000)
    expect(await locks.tryAcquire('life')).toBeNull()
    expect(await lease.release()).toBe('released')
    expect(await others.isLocked('life')).toBe(false)
    expect(lease.signal.aborted).toBe(false)
  })

  it('a release whose lock another took before its second copy is released, and leaves that one alone', async () => {
    between = async (announces) => {
      if (announces === 'released') await others.acquire('passed', { wait: 0, ttl: '30s' })
    }
    expect(await locks.withLock('passed', () => 'done')).toBe('done')
    expect(await others.inspect('passed')).toMatchObject({ held: true, holder: 'others' })
    expect(told()).not.toContain('lost')
  })

  it('a revocation just before the release is still a loss', async () => {
    const working = locks.withLock('revoked', async () => {
      expect(await others.revoke('revoked')).toBe(true)
      return 'done'
    })
    await expect(working).rejects.toEqual(lost('gone'))
  })

  it('a revocation just before the release is still a loss when another has the lock by then', async () => {
    const working = locks.withLock('retaken', async () => {
      expect(await others.revoke('retaken')).toBe(true)
      await others.acquire('retaken', { wait: 0, ttl: '30s' })
      return 'done'
    })
    await expect(working).rejects.toEqual(lost('gone'))
    expect(await others.inspect('retaken')).toMatchObject({ held: true, holder: 'others' })
  })

  it('a revocation between the two copies of a release is none: the lock was given back before', async () => {
    between = async (announces) => {
      if (announces === 'released') expect(await others.revoke('too-late')).toBe(false)
    }
    expect(await locks.withLock('too-late', () => 'done')).toBe('done')
  })

  it('a revocation says that it took the lock away, and takes nothing from later holders', async () => {
    await others.acquire('victim', { ttl: '30s' })
    between = async (announces) => {
      if (announces === 'revoked') await others.acquire('victim', { wait: 0, ttl: '30s' })
    }
    expect(await locks.revoke('victim')).toBe(true)
    expect(await others.isLocked('victim')).toBe(true)
  })

  it('a revocation of a lease that its holder gave back in the meantime says that there was nothing to take', async () => {
    const lease = await others.acquire('quick', { ttl: '30s' })
    before = async (announces) => {
      if (announces === 'revoked') await lease.release()
    }
    expect(await locks.revoke('quick')).toBe(false)
    expect(await lease.release()).toBe('released')
  })
})
