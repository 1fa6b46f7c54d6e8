import type { LeaseLostError, Locker } from '@leasehold/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Arena, arenas } from '../support/arena.ts'
import { elapse } from '../support/scale.ts'

// Side by side, since they mostly wait: each has its own locks.
describe.concurrent.each(arenas)('ownership on %s', (_, open) => {
  let arena: Arena
  let a: Locker
  let b: Locker
  let c: Locker
  beforeAll(async () => {
    arena = await open()
    a = arena.client()
    b = arena.client()
    c = arena.client()
  })
  afterAll(() => arena[Symbol.asyncDispose]())

  it("T-01: a late release does not remove the next holder's lock", async () => {
    const late = await a.acquire('t01', { ttl: '1s', renew: false })
    await elapse(1_200)
    const next = await b.acquire('t01', { ttl: '10s', wait: '2s' })
    expect(await late.release()).toBe('superseded')
    expect(await c.tryAcquire('t01')).toBeNull()
    expect(await next.release()).toBe('released')
    const third = await c.tryAcquire('t01')
    expect(third?.fence).toBeGreaterThan(next.fence as number)
    await third?.release()
  })

  it('T-02: an explicit extend does not resurrect a vanished lock', async () => {
    const lease = await a.acquire('t02')
    await arena.remove('t02')
    await expect(lease.renew({ ttl: '10s' })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(await a.isLocked('t02')).toBe(false)
    const other = await b.tryAcquire('t02')
    expect(other).not.toBeNull()
    expect(lease.remaining()).toBe(0)
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
    expect((lease.signal.reason as LeaseLostError).reason).toBe('gone')
    expect(await lease.release()).toBe('superseded')
    await other?.release()
  })

  it('T-04: a release says whether the lease had expired, was superseded, or was given back already', async () => {
    // A release after the end of the lease is tried once, for a sixth of the ttl: time enough for an answer.
    const options = { ttl: '2s', renew: false } as const
    const expired = await a.acquire('t04', options)
    await elapse(2_200)
    expect(await expired.release()).toBe('expired')

    const superseded = await a.acquire('t04', options)
    await elapse(2_100)
    const successor = await b.acquire('t04', { wait: '2s' })
    expect(await superseded.release()).toBe('superseded')
    await successor.release()

    const twice = await a.acquire('t04')
    expect(await twice.release()).toBe('released')
    expect(await twice.release()).toBe('released')
    await expect(twice.renew({ ttl: '1s' })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
  })

  it('every acquisition has a token and a fence of its own, and the store shows no token', async () => {
    const seen = new Set<string>()
    let last = 0
    for (let round = 0; round < 20; round++) {
      const lease = await a.acquire('token')
      expect(lease.fence).toBeGreaterThan(last)
      last = lease.fence as number
      seen.add(lease.token)
      expect(JSON.stringify(await b.inspect('token'))).not.toContain(lease.token.split('.').at(-2))
      await lease.release()
    }
    expect(seen.size).toBe(20)
  })
})
