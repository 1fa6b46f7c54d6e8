import type { LockerEvent } from '@leasehold/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { arenas } from '../support/arena.ts'
import { elapse, ms } from '../support/scale.ts'

/*
 * What users do in their own suites. vitest fakes everything that reads or takes time, `performance.now` included, but
 * not `nextTick` and `queueMicrotask`; time then stands still until the test advances it.
 */

const { setTimeout: realTimeout } = globalThis
/** Long enough for a waiter to have checked and come to rest. */
const atRest = (): Promise<void> => new Promise((resolve) => realTimeout(resolve, 200))

afterEach(() => {
  vi.useRealTimers()
})

/** node-redis writes its commands in `setImmediate`, which must stay real for it. */
const withTimers = (name: string): Parameters<typeof vi.useFakeTimers>[0] =>
  name.endsWith('node-redis')
    ? { toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] }
    : {}

describe.each(arenas)('on %s', (name, open) => {
  it('T-72: with all timers fake, calls and hand-offs within a process go on, with full validity', async () => {
    await using arena = await open()
    vi.useFakeTimers(withTimers(name))
    const locks = arena.client({ notifier: arena.notifier() })
    const lease = await locks.acquire('t72', { ttl: '10s' })
    expect(lease.remaining()).toBeGreaterThan(9_000)
    expect(await locks.tryAcquire('t72')).toBeNull()
    const next = locks.acquire('t72', { ttl: '10s' })
    await atRest()
    expect(await lease.release()).toBe('released')
    expect((await next).remaining()).toBeGreaterThan(9_000)
    expect(await (await next).release()).toBe('released')
    expect(await locks.withLock('t72', (held) => held.remaining() > 9_000)).toBe(true)
    await locks.close()
    vi.useRealTimers()
  })

  it('T-72: with all timers fake, a release wakes a waiter elsewhere', async () => {
    await using arena = await open()
    vi.useFakeTimers(withTimers(name))
    const a = arena.client({ notifier: arena.notifier() })
    const b = arena.client({ notifier: arena.notifier() })
    const lease = await a.acquire('t72')
    const next = b.acquire('t72', { ttl: '10s' })
    await atRest()
    expect(await lease.release()).toBe('released')
    expect((await next).remaining()).toBeGreaterThan(9_000)
    expect(await (await next).release()).toBe('released')
    vi.useRealTimers()
  })

  it.each([2020, 2040])('T-72: with the date set to %i a lease lasts as long as it should', async (year) => {
    await using arena = await open()
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(year, 0, 1) })
    const events: LockerEvent[] = []
    const a = arena.client({ notifier: arena.notifier(), onEvent: (event) => events.push(event) })
    const b = arena.client({ notifier: arena.notifier() })
    const [key, ttl] = [`t72-${year}`, 1_000]
    const lease = await a.acquire(key, { ttl })
    expect(lease.remaining()).toBeGreaterThan(ttl / 2)
    await elapse(ms(7_500))
    lease.assertValid()
    await expect(b.acquire(key, { wait: 100 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    const next = b.acquire(key, { ttl })
    await atRest()
    expect(await lease.release()).toBe('released')
    expect((await next).remaining()).toBeGreaterThan(ttl / 2)
    expect(await (await next).release()).toBe('released')
    expect(events.filter(({ type }) => type === 'lost')).toEqual([])
    // And no longer: both the store and the holder know when the time is over.
    const abandoned = await b.acquire(key, { ttl: 500, renew: false })
    expect((await a.acquire(key)).waitedMs).toBeGreaterThan(400)
    expect(abandoned.remaining()).toBeLessThanOrEqual(0)
  })
})
