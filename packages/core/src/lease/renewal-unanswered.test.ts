import { refusing, replyAfter, replyLost, requestAfter, requestLost, testLocker, unavailable } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseholdError, type LeaseLostError } from '../errors.ts'
import type { Lease } from './lease.ts'

/** How long the default ttl of 10 s may be trusted, from when it was sent. */
const validMs = 10_000 - 102

let { locks, store, clock, events, eventsOf } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, events, eventsOf } = testLocker())
})

const renewedAtMs = (): number[] => store.called('renew').map(({ atMs }) => atMs)

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, at) => time - (times[at] ?? 0))

const reasonOf = ({ signal }: Lease): unknown => (signal.aborted ? (signal.reason as LeaseLostError).reason : undefined)

/** Lets time pass until `count` renewals were sent, and a little less than 10 ms more. */
async function untilRenewed(count: number): Promise<void> {
  while (renewedAtMs().length < count) await clock.advance(10)
}

/** Takes many locks at once. */
const takeMany = (count: number): Promise<readonly Lease[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => locks.acquire(`k${at}`)))

describe('a renewal', () => {
  it('does not overlap itself: the next is sent when the one before was answered or given up', async () => {
    await locks.acquire('k', { ttl: '3s' })
    store.always('renew', replyAfter(490))
    await clock.advance(60_000)
    expect(store.mostAtOnce('renew')).toBe(1)
    expect(eventsOf('lost')).toEqual([])
  })

  it('that answers after the release is ignored', async () => {
    store.next('renew', replyAfter(900))
    const lease = await locks.acquire('k')
    const { signal } = lease
    await clock.advance(3_400)
    expect(await lease.release()).toBe('released')
    await clock.advance(60_000)
    expect(renewedAtMs()).toHaveLength(1)
    expect(signal.aborted).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
    expect(clock.pending).toBe(0)
  })

  it('that reaches the store after the release, and finds nothing there, raises no alarm', async () => {
    store.next('renew', requestAfter(900))
    const lease = await locks.acquire('k')
    await clock.advance(3_334)
    await lease.release()
    await clock.advance(60_000)
    expect(lease.signal.aborted).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('waiting for its turn behind others is not sent for a lease that was released meanwhile', async () => {
    const leases = await takeMany(1_000)
    store.always('renew', replyAfter(900))
    await untilRenewed(4)
    expect(store.called('renew')).toHaveLength(4)
    const asked = new Set(store.called('renew').flatMap(({ requests }) => requests.map(({ key }) => key)))
    const unsent = leases.filter(({ key }) => !asked.has(key))
    expect(unsent.length).toBeGreaterThan(0)
    await Promise.all(unsent.map((lease) => lease.release()))
    await clock.advance(10_000)
    const everAsked = new Set(store.called('renew').flatMap(({ requests }) => requests.map(({ key }) => key)))
    for (const { key } of unsent) expect(everAsked.has(key)).toBe(false)
  })

  it('without an answer is not a loss: it is told, repeated, and an answer makes it good', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', requestLost, unavailable('no'), unavailable('unknown'))
    await clock.advance(6_000)
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBeGreaterThan(validMs / 2)
    const told = eventsOf('renewal-unanswered')
    expect(told).toHaveLength(3)
    expect(told[1]).toEqual({ type: 'renewal-unanswered', key: 'k', cause: expect.any(Error) })
    await clock.advance(60_000)
    expect(eventsOf('lost')).toEqual([])
  })

  it('that succeeds late extends the lease, counted from when it was sent', async () => {
    const lease = await locks.acquire('k')
    store.always('renew', requestLost)
    store.next('renew', replyAfter(5_000))
    await clock.advance(3_334)
    const [sentMs = 0] = renewedAtMs()
    await clock.advance(validMs + 100 - clock.monotonicMs())
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBeCloseTo(sentMs + validMs - clock.monotonicMs(), 1)
    await clock.advance(lease.remaining() + 1)
    expect(reasonOf(lease)).toBe('unreachable')
  })

  it('that succeeds after the loss changes nothing: a loss is final', async () => {
    const lease = await locks.acquire('k')
    store.always('renew', requestLost)
    store.next('renew', replyAfter(15_000))
    await clock.advance(validMs + 1)
    expect(reasonOf(lease)).toBe('unreachable')
    await clock.advance(20_000)
    expect(lease.remaining()).toBe(0)
    expect(eventsOf('lost')).toHaveLength(1)
  })

  it('answers may overtake each other: the one that reaches furthest counts', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyAfter(3_000))
    await clock.advance(4_800)
    const [, second = 0] = renewedAtMs()
    expect(second).toBeGreaterThan(0)
    await clock.advance(Math.max(0, second + 3_500 - clock.monotonicMs()))
    const newest = renewedAtMs().at(-1) ?? 0
    expect(lease.remaining()).toBeCloseTo(newest + validMs - clock.monotonicMs(), 1)
  })
})

describe('a store that answers no renewal', () => {
  it('is asked again and again until the validity is over; then the lease is lost as unreachable', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    store.always('renew', requestLost)
    await clock.advance(validMs - 1)
    expect(signal.aborted).toBe(false)
    await clock.advance(2)
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
    expect(renewedAtMs().length).toBeGreaterThanOrEqual(4)
    expect(renewedAtMs().length).toBeLessThanOrEqual(9)
    const sent = renewedAtMs().length
    await clock.advance(60_000)
    expect(renewedAtMs()).toHaveLength(sent)
    expect(clock.pending).toBe(0)
  })

  it('although it carried the renewals out is no reason to trust the lease', async () => {
    const lease = await locks.acquire('k')
    store.always('renew', replyLost)
    await clock.advance(validMs + 1)
    expect(reasonOf(lease)).toBe('unreachable')
    expect(await locks.isLocked('k')).toBe(true)
  })

  it.each(['no', 'unknown'] as const)('but fails at once (%s) is not asked in a hot loop', async (executed) => {
    const lease = await locks.acquire('k')
    store.always('renew', unavailable(executed))
    await clock.advance(validMs + 1)
    expect(reasonOf(lease)).toBe('unreachable')
    expect(renewedAtMs().length).toBeGreaterThanOrEqual(6)
    expect(renewedAtMs().length).toBeLessThanOrEqual(20)
    const pauses = gaps(renewedAtMs())
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(50)
    expect(pauses.at(-1)).toBeGreaterThan(500)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(10_000 / 12 + 1)
  })

  it('and fails at once is not asked in a hot loop for the smallest ttl either', async () => {
    const lease = await locks.acquire('k', { ttl: 100 })
    store.always('renew', unavailable('no'))
    await clock.advance(100)
    expect(reasonOf(lease)).toBe('unreachable')
    expect(renewedAtMs().length).toBeLessThanOrEqual(9)
  })

  it('and fails for a thousand leases at once is asked per hundred, not per lease', async () => {
    await takeMany(1_000)
    store.always('renew', unavailable('no'))
    await clock.advance(validMs + 1)
    expect(eventsOf('lost')).toHaveLength(1_000)
    expect(renewedAtMs().length).toBeLessThanOrEqual(400)
    expect(clock.pending).toBe(0)
  })

  it('but rejects, against the rules of the port, loses no lease before its time and rejects nobody', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', async () => {
      throw new Error('broken adapter')
    })
    await clock.advance(6_000)
    expect(lease.remaining()).toBeGreaterThan(validMs / 2)
    expect(events).toContainEqual({ type: 'renewal-unanswered', key: 'k', cause: new Error('broken adapter') })
  })

  it('or refuses them is told as the reason, and asked again', async () => {
    const lease = await locks.acquire('k')
    const error = new LeaseholdError('STORE_UNAVAILABLE', 'No permission')
    store.next('renew', refusing(error))
    await clock.advance(6_000)
    expect(events).toContainEqual({ type: 'renewal-unanswered', key: 'k', cause: error })
    expect(lease.remaining()).toBeGreaterThan(validMs / 2)
  })

  it('is why they are lost, also to those leases whose turn to be renewed never came', async () => {
    await takeMany(5_000)
    store.always('renew', requestLost)
    await clock.advance(10_000)
    const causes = events.flatMap((event) => (event.type === 'lost' ? event.reason : []))
    expect(causes).toHaveLength(5_000)
    expect(new Set(causes)).toEqual(new Set(['unreachable']))
  })
})
