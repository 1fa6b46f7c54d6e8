import type { Lease } from '@leasehold/core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { eventually } from '../support/scale.ts'

let arena: RedisArena
beforeAll(async () => {
  arena = await redisArena()
})
afterAll(() => arena[Symbol.asyncDispose]())

/** What an earlier lock library, or somebody else, may have stored under the key. */
const kinds: readonly (readonly [kind: string, command: string, ...args: readonly string[]])[] = [
  ['hash', 'HSET', 'uuid:1', '1'],
  ['set', 'SADD', 'member'],
  ['list', 'RPUSH', 'element'],
  ['sorted set', 'ZADD', '1', 'member'],
  ['stream', 'XADD', '*', 'field', 'value'],
]

const mismatch = expect.objectContaining({ code: 'KIND_MISMATCH' })

describe.each(kinds)("T-70: a %s under the lock's name", (kind, command, ...args) => {
  const key = `t70-${kind}`

  /** Stores the entry, runs the claim, and checks that the entry is unchanged. */
  async function untouched(entry: string, claim: () => Promise<void>): Promise<void> {
    await arena.command(command, entry, ...args)
    const before = await arena.command('DUMP', entry)
    await claim()
    expect(await arena.command('DUMP', entry)).toEqual(before)
    expect(await arena.command('PTTL', entry)).toBe(-1)
    await arena.command('DEL', entry)
  }

  it('is a clear error at once, whatever the wait, and stays as it is', async () => {
    const locks = arena.client()
    await untouched(arena.prefix + key, async () => {
      const began = performance.now()
      const work = vi.fn()
      await expect(locks.tryAcquire(key)).rejects.toEqual(mismatch)
      await expect(locks.acquire(key, { wait: '60s' })).rejects.toEqual(mismatch)
      await expect(locks.withLock(key, { wait: '60s' }, work)).rejects.toEqual(mismatch)
      await expect(locks.inspect(key)).rejects.toEqual(mismatch)
      expect(work).not.toHaveBeenCalled()
      expect(performance.now() - began).toBeLessThan(10_000)
    })
  })

  it('instead of the fence record is the same error, and nothing is half done', async () => {
    const locks = arena.client()
    await untouched(`{${arena.prefix}${key}}:fence`, async () => {
      await expect(locks.tryAcquire(key)).rejects.toEqual(mismatch)
      await expect(locks.acquire(key, { wait: '60s' })).rejects.toEqual(mismatch)
      expect(await locks.isLocked(key)).toBe(false)
      expect(await arena.command('EXISTS', arena.prefix + key)).toBe(0)
    })
  })

  it('instead of the fence record of a held lock keeps neither a renewal nor a release from their work', async () => {
    const locks = arena.client()
    const record = `{${arena.prefix}${key}}:fence`
    const lease = await locks.acquire(key, { ttl: '10s' })
    await arena.command('DEL', record)
    await arena.command(command, record, ...args)
    const value = async (): Promise<unknown> => arena.command('DUMP', record)
    const before = await value()
    await lease.renew({ ttl: '60s' })
    expect(lease.remaining()).toBeGreaterThan(30_000)
    expect(await lease.release()).toBe('released')
    expect(await locks.isLocked(key)).toBe(false)
    expect(await value()).toEqual(before)
    await arena.command('DEL', record)
  })
})

it('T-70: of many leases the one whose entry was replaced is lost, and the others live on', async () => {
  const locks = arena.client()
  const keys = Array.from({ length: 40 }, (_, i) => `t70-many-${i}`)
  const leases = await Promise.all(keys.map((key) => locks.acquire(key, { ttl: '6s' })))
  const [replaced, ...rest] = leases
  const entry = `${arena.prefix}${replaced?.key}`
  await arena.command('DEL', entry)
  await arena.command('HSET', entry, 'field', 'value')
  const left = new Map(rest.map((lease) => [lease, lease.remaining()]))
  const renewed = new Set<Lease>()
  await eventually(() => {
    for (const lease of rest) {
      const now = lease.remaining()
      if (now > (left.get(lease) as number)) renewed.add(lease)
      left.set(lease, now)
    }
    return replaced?.signal.aborted === true && renewed.size === rest.length
  }, 15_000)
  expect(replaced?.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
  expect(rest.filter(({ signal }) => signal.aborted)).toEqual([])
  expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual([
    'superseded',
    ...rest.map(() => 'released'),
  ])
  expect(await arena.command('HGETALL', entry)).toEqual(['field', 'value'])
})

it('T-70: only a revocation takes away what is no lock, and takes nothing from later holders', async () => {
  const locks = arena.client()
  const entry = `${arena.prefix}t70-revoked`
  await arena.command('HSET', entry, 'field', 'value')
  expect(await locks.revoke('t70-revoked')).toBe(true)
  expect(await arena.command('EXISTS', entry)).toBe(0)
  expect(await locks.revoke('t70-revoked')).toBe(false)
  const lease = await locks.acquire('t70-revoked', { wait: 0 })
  expect(await lease.release()).toBe('released')
})
