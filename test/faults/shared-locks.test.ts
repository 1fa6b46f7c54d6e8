import { once } from 'node:events'
import { createLocker } from '@leasehold/core'
import { readWriteLock } from '@leasehold/core/read-write'
import { type Semaphore, semaphore } from '@leasehold/core/semaphore'
import { ioredisBackend } from '@leasehold/ioredis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { eventually } from '../support/scale.ts'

/* Semaphores and read/write locks on a real server: what others see of them, and what they leave behind. */

let arena: RedisArena
beforeAll(async () => {
  arena = await redisArena()
})
afterAll(() => arena[Symbol.asyncDispose]())

const client = () => arena.client({ notifier: arena.notifier() })

describe('a key that is a lock of one kind', () => {
  const mismatch = { code: 'KIND_MISMATCH' }

  it('is refused by name to every other, and stays what it was', async () => {
    const [mine, others] = [client(), client()]
    const kinds = {
      plain: (key: string) => others.tryAcquire(key),
      permits: (key: string) => semaphore(others, key, { permits: 3 }).tryAcquire(),
      read: (key: string) => readWriteLock(others, key).tryRead(),
    }
    const holds = {
      plain: await mine.acquire('plain'),
      permits: await semaphore(mine, 'permits', { permits: 3 }).acquire({ permits: 3 }),
      read: await readWriteLock(mine, 'read').write(),
    }
    for (const [key, lease] of Object.entries(holds)) {
      for (const [kind, asked] of Object.entries(kinds)) {
        const answer = expect(asked(key), `${kind} of a key that is ${key}`)
        await (kind === key ? answer.resolves.toBeNull() : answer.rejects.toMatchObject({ ...mismatch, key }))
      }
      if (key !== 'plain') await expect(others.inspect(key)).rejects.toMatchObject(mismatch)
      lease.assertValid()
      expect(await lease.release()).toBe('released')
    }
  })

  it('says how many permits there are, and how many were asked for', async () => {
    const lease = await semaphore(client(), 'numbers', { permits: 5 }).acquire()
    await expect(semaphore(client(), 'numbers', { permits: 6 }).acquire()).rejects.toMatchObject({
      ...mismatch,
      message: expect.stringMatching(/5 permits, not 6/),
    })
    await lease.release()
    const six = await semaphore(client(), 'numbers', { permits: 6 }).acquire({ permits: 6 })
    expect(await six.release()).toBe('released')
  })
})

describe('a semaphore that an operator revokes', () => {
  it('takes all permits from their holders, who learn of it, and gives them to who waits', async () => {
    const [pool, other] = [client(), client()].map((locks) => semaphore(locks, 'revoked', { permits: 3 }))
    if (!pool || !other) throw new Error('Two are made')
    const leases = [await pool.acquire({ ttl: 1_500 }), await pool.acquire({ ttl: 1_500, permits: 2 })]
    const losses = leases.map(({ signal }) => once(signal, 'abort'))
    const next = other.acquire({ permits: 3, wait: '20s' })
    await eventually(async () => (await pool.inspect()).waiting === 1)
    expect(await client().revoke('revoked')).toBe(true)
    const lease = await next
    await Promise.all(losses)
    for (const { signal } of leases) expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    lease.assertValid()
    expect(await lease.release()).toBe('released')
  })
})

describe('a semaphore that is resized', () => {
  it('serves who waits when it grows, and nobody until enough came back when it shrinks', async () => {
    const [pool, other] = [client(), client()].map((locks) => semaphore(locks, 'resized', { permits: 2 }))
    if (!pool || !other) throw new Error('Two are made')
    const leases = [await pool.acquire(), await pool.acquire()]
    const next = other.acquire({ wait: '20s' })
    await eventually(async () => (await pool.inspect()).waiting === 1)
    await pool.resize(3)
    leases.push(await next)
    await pool.resize(1)
    expect(await pool.inspect()).toMatchObject({ permits: 1, available: 0, holders: [{}, {}, {}] })
    for (const lease of leases) {
      expect(await pool.tryAcquire()).toBeNull()
      lease.assertValid()
      await lease.release()
    }
    const last = await pool.acquire({ wait: '5s' })
    expect(await last.release()).toBe('released')
  })
})

describe('a pool that servers and functions share', () => {
  it('has one order of arrival for those who are told of their turn, and those who poll over HTTP', async () => {
    await using gateway = await startTestGateway()
    await using functions = createLocker({ store: fetchStore({ url: gateway.url, token }) })
    const redis = quiet(new Redis(gateway.server.port))
    await using servers = createLocker(ioredisBackend(redis))
    const [server, function_] = [servers, functions].map((locks) => semaphore(locks, 'mixed', { permits: 2 }))
    if (!server || !function_) throw new Error('Two are made')
    const all = await server.acquire({ permits: 2 })
    const served: string[] = []
    const hold = async (pool: Semaphore, name: string): Promise<void> => {
      const lease = await pool.acquire({ permits: 2, wait: '20s' })
      served.push(name)
      await lease.release()
    }
    const holds: Promise<void>[] = []
    for (const [index, pool] of [function_, server, function_, server].entries()) {
      holds.push(hold(pool, `${index}`))
      await eventually(async () => (await server.inspect()).waiting === index + 1)
    }
    await all.release()
    await Promise.all(holds)
    expect(served).toEqual(['0', '1', '2', '3'])
    redis.disconnect()
  })
})

describe('what is left', () => {
  it('has an expiry: the fence for as long as fences are remembered, the rest for two minutes at most', async () => {
    const [a, b] = [client(), client()]
    const doc = readWriteLock(a, 'left')
    const write = await doc.write()
    const read = await doc.read({ within: write })
    const waiter = readWriteLock(b, 'left').write({ wait: 300 })
    await expect(waiter).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    await write.release()
    await read.release()
    const keys = (await arena.command('KEYS', `*${arena.prefix}left*`)) as string[]
    for (const key of keys) {
      const leftMs = Number(await arena.command('PTTL', key))
      expect(leftMs, key).toBeGreaterThan(0)
      expect(leftMs, key).toBeLessThanOrEqual(key.endsWith(':fence') ? 600_000 : 120_000)
    }
    expect(keys.filter((key) => key.endsWith(':fence'))).toHaveLength(1)
    expect(keys).not.toContain(`${arena.prefix}left`)
  })
})
