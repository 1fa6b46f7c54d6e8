import { getEventListeners } from 'node:events'
import { inspect } from 'node:util'
import { callUntil, follow, replyAfter, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseLostError } from '../errors.ts'
import type { Lease } from './lease.ts'

const { signal: unstopped } = new AbortController()
const validMs = 10_000 - 102

const setUp = () => testLocker({ renew: false })
let { locks, store, clock, eventsOf, elsewhere } = setUp()
beforeEach(() => {
  ;({ locks, store, clock, eventsOf, elsewhere } = setUp())
})

/** An operator elsewhere takes the lock away and somebody else gets it. */
async function supersede(): Promise<void> {
  await elsewhere.revoke('k')
  await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }], callUntil(unstopped))
}

const lost = (reason: string) => expect.objectContaining({ code: 'LEASE_LOST', key: 'k', reason })

describe('a lease', () => {
  it('tells how long it may be trusted, and no less than nothing', async () => {
    const lease = await locks.acquire('k')
    expect(lease.remaining()).toBe(validMs)
    await clock.advance(validMs - 1)
    expect(lease.remaining()).toBe(1)
    await clock.advance(5_000)
    expect(lease.remaining()).toBe(0)
  })

  it('asserts that it is valid until its validity ends, whether or not a timer has noticed', async () => {
    const lease = await locks.acquire('k')
    clock.block(validMs - 1)
    expect(() => lease.assertValid()).not.toThrow()
    clock.block(1)
    expect(() => lease.assertValid()).toThrow(lost('expired'))
    expect(() => lease.assertValid()).toThrow(LeaseLostError)
  })

  it('is lost as soon as an assertion finds it expired: signal, event and assertion agree', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    clock.freeze(20_000)
    expect(signal.aborted).toBe(false)
    expect(() => lease.assertValid()).toThrow(lost('expired'))
    expect(signal.reason).toEqual(lost('expired'))
    expect(eventsOf('lost')).toHaveLength(1)
    await clock.advance(60_000)
    expect(eventsOf('lost')).toHaveLength(1)
  })

  it('shows its token to nobody who prints it', async () => {
    const lease = await locks.acquire('k')
    const [random = ''] = /[\da-f]{32}/.exec(lease.token) ?? []
    expect(random).toHaveLength(32)
    expect(inspect(lease, { depth: 10 })).not.toContain(random)
    expect(JSON.stringify(lease)).not.toContain(random)
  })
})

describe('the signal of a lease', () => {
  it('is made when it is asked for, and is the same every time', async () => {
    const made = vi.spyOn(globalThis, 'AbortController')
    const lease = await locks.acquire('k')
    const before = made.mock.instances.length
    const { signal } = lease
    expect(made.mock.instances.length).toBe(before + 1)
    expect(lease.signal).toBe(signal)
    made.mockRestore()
  })

  it('asked for after the loss is aborted already, with the right reason', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs)
    expect(lease.signal.aborted).toBe(true)
    expect(lease.signal.reason).toBeInstanceOf(LeaseLostError)
    expect(lease.signal.reason).toEqual(lost('expired'))
  })

  it('never fires by a release, nor after one', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    await lease.release()
    await clock.advance(60_000)
    expect([signal.aborted, lease.signal.aborted]).toEqual([false, false])
  })

  it('asked for first after the release is not aborted', async () => {
    const lease = await locks.acquire('k')
    await lease.release()
    await clock.advance(60_000)
    expect(lease.signal.aborted).toBe(false)
  })

  it('stays aborted when a lost lease is released', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs)
    await lease.release()
    expect(lease.signal.reason).toEqual(lost('expired'))
  })

  it('keeps no listener of ours', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    await lease.renew({ ttl: '1m' })
    await lease.release()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a released lease refuses every call', () => {
  let lease: Lease

  beforeEach(async () => {
    lease = await locks.acquire('k')
    await lease.release()
    store.calls.length = 0
  })

  it('to renew it', async () => {
    await expect(lease.renew({ ttl: '10s' })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    expect(store.calls).toEqual([])
  })

  it('to assert that it is valid', () => {
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
  })

  it('and has no time left', () => {
    expect(lease.remaining()).toBe(0)
  })

  it('as soon as the release was called, before it was answered', async () => {
    const other = await locks.acquire('other')
    store.next('release', replyAfter(500))
    const releasing = follow(other.release(), clock)
    expect(other.remaining()).toBe(0)
    expect(() => other.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    await clock.advance(500)
    expect(releasing.value).toBe('released')
  })
})

describe('a block', () => {
  it('gives its lease back when it ends', async () => {
    {
      await using lease = await locks.acquire('k')
      expect(lease.remaining()).toBe(validMs)
      expect(await locks.isLocked('k')).toBe(true)
    }
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('takes null for an answer', async () => {
    await locks.acquire('k')
    await using turn = await locks.tryAcquire('k')
    expect(turn).toBeNull()
  })

  it('that fails gives its lease back, and nothing hides its error', async () => {
    const own = new Error('own')
    const block = async (): Promise<void> => {
      await using _lease = await locks.acquire('k')
      await supersede()
      throw own
    }
    await expect(block()).rejects.toBe(own)
  })
})
