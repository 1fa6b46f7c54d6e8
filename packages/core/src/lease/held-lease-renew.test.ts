import {
  answered,
  callUntil,
  follow,
  refusing,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { InvalidOptionError, LeaseholdError, StoreUnavailableError } from '../errors.ts'
import type { Extension } from './lease.ts'

const { signal: unstopped } = new AbortController()
const validMs = 10_000 - 102

const setUp = () => testLocker({ renew: false })
let { locks, store, clock, events, elsewhere } = setUp()
beforeEach(() => {
  ;({ locks, store, clock, events, elsewhere } = setUp())
})

/** What is left of the lock, by asking the store directly. */
async function storedMs(): Promise<number | null> {
  const outcome = await store.inspect('k', callUntil(unstopped))
  return outcome.type === 'state' && outcome.state.held ? outcome.state.expiresInMs : 0
}

/** An operator elsewhere takes the lock away and somebody else gets it. */
async function supersede(): Promise<void> {
  await elsewhere.revoke('k')
  await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }], callUntil(unstopped))
}

const lost = (reason: string) => expect.objectContaining({ code: 'LEASE_LOST', key: 'k', reason })

describe('renew', () => {
  it('to a ttl extends the lease to that long from now', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(5_000)
    await lease.renew({ ttl: '30s' })
    expect(lease.remaining()).toBe(30_000 - 302)
    expect(await storedMs()).toBe(30_000)
    expect(store.called('renew')).toMatchObject([{ requests: [{ key: 'k', token: lease.token, ttlMs: 30_000 }] }])
  })

  it('by a time extends the lease beyond its present expiry', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(4_000)
    await lease.renew({ by: '3m' })
    expect(await storedMs()).toBe(6_000 + 180_000)
    expect(lease.remaining()).toBe(186_000 - 1_862)
  })

  it('by a time adds once although the first reply was lost and the request repeated', async () => {
    const lease = await locks.acquire('k', { ttl: '1m' })
    store.next('renew', replyLost)
    const renewing = follow(lease.renew({ by: '1m' }), clock)
    await clock.advance(1_000)
    expect(renewing.state).toBe('fulfilled')
    expect(store.called('renew').map(({ requests }) => requests[0]?.ttlMs)).toEqual([120_000, 120_000])
    expect(await storedMs()).toBe(120_000)
  })

  it('by a time, twice, adds twice', async () => {
    const lease = await locks.acquire('k', { ttl: '1m' })
    await lease.renew({ by: '1m' })
    await lease.renew({ by: '1m' })
    expect(await storedMs()).toBe(180_000)
  })

  it('never shortens: neither the expiry in the store nor what the holder may trust', async () => {
    const lease = await locks.acquire('k', { ttl: '1m' })
    await lease.renew({ ttl: '1s' })
    expect(await storedMs()).toBe(60_000)
    expect(lease.remaining()).toBe(60_000 - 602)
  })

  it('is once: scheduled renewal keeps the ttl of the lease, and does not cut what was added', async () => {
    const lease = await locks.acquire('k', { renew: true })
    await lease.renew({ ttl: '1m' })
    await clock.advance(30_000)
    expect(lease.remaining()).toBeGreaterThan(29_000)
    expect(await storedMs()).toBe(30_000)
    const scheduled = store.called('renew').slice(1)
    expect(new Set(scheduled.map(({ requests }) => requests[0]?.ttlMs))).toEqual(new Set([10_000]))
    await clock.advance(120_000)
    expect(lease.signal.aborted).toBe(false)
  })

  it('counts from when its request was sent', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyAfter(800))
    const renewing = follow(lease.renew({ ttl: '20s' }), clock)
    await clock.advance(800)
    expect(renewing.state).toBe('fulfilled')
    expect(lease.remaining()).toBe(20_000 - 202 - 800)
  })

  it('moves the moment at which the signal fires', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    await lease.renew({ ttl: '30s' })
    await clock.advance(30_000 - 302 - 1)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.aborted).toBe(true)
  })

  it('of a lease whose entry is gone rejects, writes nothing, and the lease is lost', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    await locks.revoke('k')
    await expect(lease.renew({ ttl: '10s' })).rejects.toThrow(lost('gone'))
    expect(await locks.isLocked('k')).toBe(false)
    expect(signal.reason).toEqual(lost('gone'))
    expect(lease.remaining()).toBe(0)
    expect(events.at(-1)).toEqual({ type: 'lost', key: 'k', fence: lease.fence, reason: 'gone' })
    expect(clock.pending).toBe(0)
    expect(await locks.tryAcquire('k')).not.toBeNull()
  })

  it('of a lease that somebody else has by now rejects, and leaves the successor alone', async () => {
    const lease = await locks.acquire('k')
    await supersede()
    await expect(lease.renew({ by: '1h' })).rejects.toThrow(lost('superseded'))
    expect(await storedMs()).toBe(60_000)
  })

  it('of a lease whose validity is over rejects without asking the store: a loss is final', async () => {
    const lease = await locks.acquire('k')
    clock.block(validMs)
    await expect(lease.renew({ ttl: '10s' })).rejects.toThrow(lost('expired'))
    expect(store.called('renew')).toEqual([])
  })

  it('without an answer rejects within a command deadline: it may be extended, and it is not lost', async () => {
    const lease = await locks.acquire('k')
    store.always('renew', requestLost)
    const renewing = follow(lease.renew({ ttl: '10s' }), clock)
    await clock.advance(1_999)
    expect(renewing.state).toBe('pending')
    await clock.advance(1)
    expect(renewing.reason).toBeInstanceOf(StoreUnavailableError)
    expect(renewing.reason).toMatchObject({ executed: 'unknown' })
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBe(validMs - 2_000)
  })

  it('that fails at once is repeated until it is answered', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', unavailable('no', new Error('ECONNRESET')), replyLost)
    const renewing = follow(lease.renew({ ttl: '60s' }), clock)
    await clock.advance(2_000)
    expect(renewing.state).toBe('fulfilled')
    expect(store.called('renew')).toHaveLength(3)
    expect(lease.remaining()).toBeGreaterThan(55_000)
  })

  it('that certainly was not carried out says so, with the reason of the client', async () => {
    const lease = await locks.acquire('k')
    const cause = new Error('ECONNREFUSED')
    store.always('renew', unavailable('no', cause))
    const renewing = follow(lease.renew({ ttl: '10s' }), clock)
    await clock.advance(2_000)
    expect(renewing.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no', cause })
  })

  it('that is refused for good rejects with the error of the store', async () => {
    const lease = await locks.acquire('k')
    const error = new LeaseholdError('STORE_UNAVAILABLE', 'No permission')
    store.always('renew', refusing(error))
    await expect(lease.renew({ ttl: '10s' })).rejects.toThrow(
      expect.objectContaining({ code: error.code, message: error.message, key: 'k' }),
    )
    expect(lease.signal.aborted).toBe(false)
  })

  it('that is still under way when the lease is lost rejects as lost, however it is answered', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs - 500)
    store.next('renew', replyAfter(900))
    const renewing = follow(lease.renew({ ttl: '10s' }), clock)
    await clock.advance(1_000)
    expect(renewing.reason).toEqual(lost('expired'))
    expect(lease.remaining()).toBe(0)
  })

  it('that is still under way when the lease is released rejects as released', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', requestAfter(500))
    const renewing = follow(lease.renew({ ttl: '10s' }), clock)
    await clock.advance(100)
    expect(await lease.release()).toBe('released')
    await clock.advance(500)
    expect(renewing.reason).toMatchObject({ code: 'LEASE_RELEASED' })
    expect(lease.signal.aborted).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('is asked for no more once the lease was released, or lost', async () => {
    for (const end of ['release', 'lose'] as const) {
      const lease = await locks.acquire(end, { renew: false })
      store.always('renew', requestLost)
      const renewing = follow(lease.renew({ ttl: '20s' }), clock)
      await clock.advance(100)
      const asked = store.called('renew').length
      if (end === 'release') await lease.release()
      else await locks.revoke(end)
      await clock.advance(0)
      expect(renewing.reason).toMatchObject({ code: end === 'release' ? 'LEASE_RELEASED' : 'LEASE_LOST' })
      await clock.advance(5_000)
      expect(store.called('renew')).toHaveLength(asked)
      store.always('renew', answered)
    }
  })

  it('that finds the lock gone after its lease was handed off ends the one who has it now', async () => {
    const lease = await locks.acquire('k')
    const next = locks.acquire('k', { renew: true })
    store.next('renew', replyAfter(500))
    await store.revoke('k', callUntil(new AbortController().signal))
    const renewing = follow(lease.renew({ ttl: '10s' }), clock)
    await clock.advance(100)
    await lease.release()
    const successor = await next
    expect(successor.signal.aborted).toBe(false)
    await clock.advance(500)
    expect(renewing.reason).toMatchObject({ code: 'LEASE_RELEASED' })
    expect(successor.signal.reason).toEqual(lost('gone'))
  })

  it.each([
    ...[{ ttl: 0 }, { ttl: Number.NaN }, { ttl: -5 }, { ttl: 'soon' }, { ttl: 2 ** 53 }, { ttl: null }],
    ...[{}, { ttl: '1s', by: '1s' }, { until: 5 }, undefined, null, 5_000],
  ])('with a bad extension is refused by name, and nothing is sent: %j', async (extension) => {
    const lease = await locks.acquire('k')
    const renewing = lease.renew(extension as unknown as Extension)
    await expect(renewing).rejects.toThrow(InvalidOptionError)
    await expect(renewing).rejects.toMatchObject({ option: 'ttl' })
    expect(store.called('renew')).toEqual([])
  })

  it('by a bad time is refused by name', async () => {
    const lease = await locks.acquire('k')
    for (const by of [0, -1, Number.POSITIVE_INFINITY, 'a while']) {
      await expect(lease.renew({ by } as Extension)).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'by' })
    }
  })
})
