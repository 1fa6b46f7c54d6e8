import { callUntil, follow, replyAfter, requestLost, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseLostError } from '../errors.ts'
import type { Lease } from './lease.ts'

const { signal: unstopped } = new AbortController()

/** How long the default ttl of 10 s may be trusted, from when it was sent. */
const validMs = 10_000 - 102

let { locks, store, clock, eventsOf, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, eventsOf, elsewhere } = testLocker())
})

const renewedAtMs = (): number[] => store.called('renew').map(({ atMs }) => atMs)

const reasonOf = ({ signal }: Lease): unknown => (signal.aborted ? (signal.reason as LeaseLostError).reason : undefined)

/** Lets time pass until `count` renewals were sent, and a little less than 10 ms more. */
async function untilRenewed(count: number): Promise<void> {
  while (renewedAtMs().length < count) await clock.advance(10)
}

describe('a lease without renewal', () => {
  it('is never renewed, and its signal fires when its validity ends, before the store lets go', async () => {
    const lease = await locks.acquire('k', { renew: false })
    const { signal } = lease
    await clock.advance(validMs - 1)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.reason).toBeInstanceOf(LeaseLostError)
    expect(signal.reason).toMatchObject({ key: 'k', reason: 'expired' })
    expect(await locks.isLocked('k')).toBe(true)
    expect(renewedAtMs()).toEqual([])
    expect(clock.pending).toBe(0)
  })
})

describe('a lease is lost', () => {
  it('as gone, at once when a renewal finds no entry', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    await clock.advance(3_334)
    expect(reasonOf(lease)).toBe('gone')
    expect(lease.remaining()).toBe(0)
    expect(clock.pending).toBe(0)
    expect(eventsOf('lost')).toEqual([{ type: 'lost', key: 'k', fence: lease.fence, reason: 'gone' }])
  })

  it('as superseded, at once when a renewal finds the token of another', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }], callUntil(unstopped))
    await clock.advance(3_334)
    expect(reasonOf(lease)).toBe('superseded')
  })

  it('by a renewal that answers late that it is not ours', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    store.next('renew', replyAfter(1_200))
    store.always('renew', requestLost)
    await untilRenewed(1)
    const [sentMs = 0] = renewedAtMs()
    await clock.advance(sentMs + 1_200 - clock.monotonicMs())
    expect(reasonOf(lease)).toBe('gone')
  })

  it('once: whatever is learnt later adds nothing', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    // Each renewal is given up after a second, so that the first is repeated before its answer comes.
    store.always('renew', replyAfter(1_300))
    await clock.advance(60_000)
    expect(renewedAtMs().length).toBeGreaterThan(1)
    expect(() => lease.assertValid()).toThrow(LeaseLostError)
    expect(reasonOf(lease)).toBe('gone')
    expect(eventsOf('lost')).toHaveLength(1)
  })

  it('as expired when the machine was suspended beyond its validity, as soon as anything runs again', async () => {
    const lease = await locks.acquire('k')
    clock.freeze(60_000)
    expect(lease.remaining()).toBe(0)
    expect(() => lease.assertValid()).toThrow(LeaseLostError)
    expect(reasonOf(lease)).toBe('expired')
  })

  it('as expired, without a renewal, when the event loop was blocked beyond its validity', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    clock.block(60_000)
    expect(lease.remaining()).toBe(0)
    await clock.advance(0)
    expect(signal.reason).toMatchObject({ reason: 'expired' })
    expect(renewedAtMs()).toEqual([])
  })

  it('not by a wall clock that was set back', async () => {
    const lease = await locks.acquire('k')
    clock.stepWall(-3_600_000)
    await clock.advance(60_000)
    expect(lease.signal.aborted).toBe(false)
  })
})

describe('a lease with a longest hold', () => {
  it('is lost when that is over, and not renewed any more: others get the lock', async () => {
    const lease = await locks.acquire('k', { ttl: '2s', maxHold: '6s' })
    const { signal } = lease
    await clock.advance(5_999)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'max-hold' })
    const other = follow(locks.acquire('k'), clock)
    await clock.advance(3_000)
    expect(other.state).toBe('fulfilled')
    const renewedLater = store.called('renew').filter(({ atMs }) => atMs >= 6_000)
    expect(renewedLater.flatMap(({ requests }) => requests.filter(({ token }) => token === lease.token))).toEqual([])
  })

  it('counts from when its request was sent, as its validity does', async () => {
    store.next('acquire', replyAfter(900))
    const acquiring = follow(locks.acquire('k', { maxHold: '3s' }), clock)
    await clock.advance(2_999)
    expect(acquiring.value?.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(acquiring.value?.signal.reason).toMatchObject({ reason: 'max-hold' })
  })

  it('that is never reached changes nothing', async () => {
    const lease = await locks.acquire('k', { maxHold: '1m' })
    await clock.advance(59_000)
    expect(await lease.release()).toBe('released')
    await clock.advance(2_000)
    expect(lease.signal.aborted).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('holds for a lease without renewal too', async () => {
    const lease = await locks.acquire('k', { renew: false, maxHold: '1s' })
    const { signal } = lease
    await clock.advance(1_000)
    expect(signal.reason).toMatchObject({ reason: 'max-hold' })
  })

  it('is one lease only: the others of the locker are renewed on', async () => {
    await locks.acquire('capped', { maxHold: '6s' })
    const other = await locks.acquire('other')
    await clock.advance(60_000)
    expect(other.signal.aborted).toBe(false)
    expect(eventsOf('lost')).toHaveLength(1)
  })
})
