import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { elapse, limit, ms } from '../support/scale.ts'

describe.each(arenas)('durations on %s', (_, open) => {
  it('T-09: odd durations are rounded up or refused by name, never taken for contention', async () => {
    await using arena = await open()
    const locks = arena.client()
    await locks.isLocked('t09')
    const rounded = await locks.acquire('t09', { ttl: 12_345.6, renew: false })
    // 1 % and 2 ms less than what the store was asked for.
    expect(rounded.remaining()).toBeLessThanOrEqual(12_346 * 0.99 - 2)
    expect(rounded.remaining()).toBeGreaterThan(10_000)
    await rounded.release()

    for (const ttl of [0, -5, Number.NaN, Number.POSITIVE_INFINITY, 1e308, 2 ** 53]) {
      await expect(locks.acquire('t09', { ttl })).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'ttl' })
    }
    const spoken = await locks.acquire('t09', { ttl: '5s' })
    expect(spoken.remaining()).toBeGreaterThan(4_500)
    await spoken.release()
  })

  it('T-10: waiting longer than the lease is allowed', async () => {
    await using arena = await open()
    const holder = await arena.client().acquire('t10', { ttl: ms(1_500, 1_000) })
    const waiting = arena.client().acquire('t10', { ttl: ms(1_000, 1_000), wait: '10s' })
    await elapse(ms(4_000, 2_000))
    await holder.release()
    const lease = await waiting
    expect(lease.remaining()).toBeLessThanOrEqual(ms(1_000, 1_000))
    expect(lease.waitedMs).toBeGreaterThan(ms(3_800, 1_900))
    expect(lease.waitedMs).toBeLessThan(ms(4_000, 2_000) + limit(1_200))
    await lease.release()
  })
})

it('bad input is refused by name before anything is sent', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await locks.isLocked('warm')
  const calls = async (): Promise<string> =>
    String(await arena.command('INFO', 'commandstats')).match(/evalsha:calls=\d+/)?.[0] ?? ''
  const before = await calls()

  const refused = async (key: unknown, options: object, option: string): Promise<void> => {
    const error = { code: 'INVALID_OPTION', option }
    await expect(locks.acquire(key as string, options)).rejects.toMatchObject(error)
    await expect(locks.withLock(key as string, options, () => 1)).rejects.toMatchObject(error)
  }
  await refused('', {}, 'key')
  await refused('x'.repeat(513), {}, 'key')
  await refused('é'.repeat(257), {}, 'key')
  await refused('\ud800', {}, 'key')
  await refused('a}b', {}, 'key')
  await refused('{}', {}, 'key')
  await refused(42, {}, 'key')
  await refused('k', { ttl: '5 parsecs' }, 'ttl')
  await refused('k', { ttl: 'PT5S' }, 'ttl')
  await refused('k', { ttl: 3 }, 'ttl')
  await refused('k', { wait: -1 }, 'wait')
  await refused('k', { wait: Number.NaN }, 'wait')
  await refused('k', { minValidity: '10s' }, 'minValidity')
  await refused('k', { budget: 0 }, 'budget')
  await refused('k', { budget: Number.NaN }, 'budget')
  await refused('k', { renew: 'yes' }, 'renew')
  await refused('k', { timeout: 5_000 }, 'timeout')
  await refused('k', { strategy: 'poll' }, 'strategy')
  await refused('k', { signal: {} }, 'signal')
  await expect(locks.tryAcquire('k', { wait: 5 } as object)).rejects.toMatchObject({ option: 'wait' })
  await expect(locks.inspect('')).rejects.toMatchObject({ option: 'key' })
  await expect(locks.revoke('a}b')).rejects.toMatchObject({ option: 'key' })
  await expect(locks.isLocked('a}b')).rejects.toMatchObject({ option: 'key' })
  expect(() => locks.for('')).toThrow(expect.objectContaining({ option: 'key' }))
  expect(() => locks.for('k', { ttl: 0 })).toThrow(expect.objectContaining({ option: 'ttl' }))
  expect(() => arena.client({ name: 'no spaces' })).toThrow(expect.objectContaining({ option: 'name' }))
  expect(() => arena.client({ ttl: 0 })).toThrow(expect.objectContaining({ option: 'ttl' }))

  const lease = await locks.acquire('k')
  await expect(lease.renew({ ttl: 0 })).rejects.toMatchObject({ option: 'ttl' })
  await expect(lease.renew({ by: 'soon' as '1s' })).rejects.toMatchObject({ option: 'by' })
  await expect(lease.renew({} as { by: '1s' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await lease.release()
  const sentByK = 2
  const count = (text: string): number => Number(text.split('=')[1])
  expect(count(await calls()) - count(before)).toBe(sentByK)
})
