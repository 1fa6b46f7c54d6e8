import {
  answered,
  callUntil,
  type Fate,
  follow,
  replyAfter,
  type ScriptedStore,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Executed } from '../index.ts'

/*
 * A store that is over its limit, or down for maintenance, says how long it wants to be asked nothing.
 */

let { locks, store, clock } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock } = testLocker())
})

/** Turns requests away: to be asked again after `ms`. */
const turnedAway =
  (ms: number, executed: Executed = 'no'): Fate =>
  async ({ requests }) =>
    requests.map(() => ({ type: 'unknown', executed, cause: new Error('HTTP 429'), retryAfterMs: ms }))

/** When each call of these names reached the store. */
const times = (...names: Parameters<ScriptedStore['called']>): readonly number[] =>
  store.called(...names).map(({ atMs }) => atMs)

const unavailableFor = (executed: Executed) =>
  expect.objectContaining({
    code: 'STORE_UNAVAILABLE',
    executed,
    cause: expect.objectContaining({ message: 'HTTP 429' }),
  })

describe('a store that wants to be asked nothing for a while', () => {
  it('is left alone for as long, and then asked again', async () => {
    store.next('acquire', turnedAway(3_000), turnedAway(2_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(9_000)
    expect(times('acquire')).toEqual([0, 3_000, 5_000])
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 5_000 })
  })

  it.each(['no', 'unknown'] as const)('for longer than the wait ends it at once: executed %s', async (executed) => {
    store.always('acquire', turnedAway(10_000, executed))
    const acquiring = follow(locks.acquire('k', { wait: '10s', ttl: '6s' }), clock)
    await clock.advance(0)
    expect(acquiring.reason).toEqual(unavailableFor(executed))
    // Nor is it asked to undo what the ttl undoes sooner.
    await clock.advance(60_000)
    expect([times('acquire'), times('release'), clock.pending]).toEqual([[0], [], 0])
  })

  it('with less time left than it asks for, is not asked again, though the wait would last', async () => {
    store.next('acquire', turnedAway(6_000))
    store.always('acquire', turnedAway(6_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(20_000)
    expect(times('acquire')).toEqual([0, 6_000])
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 6_000, reason: unavailableFor('no') })
  })

  it('ends a call that does not wait within a command deadline, or at once', async () => {
    store.next('acquire', turnedAway(500))
    const short = follow(locks.tryAcquire('k'), clock)
    await clock.advance(500)
    expect(short).toMatchObject({ state: 'fulfilled', atMs: 500 })
    store.next('acquire', turnedAway(2_000))
    const long = follow(locks.tryAcquire('other'), clock)
    await clock.advance(0)
    expect(long.reason).toEqual(unavailableFor('no'))
    expect(store.called('acquire')).toHaveLength(3)
  })

  it('may say what no time is: that asks for nothing', async () => {
    for (const ms of [0, -5_000, Number.NaN]) {
      store.next('acquire', turnedAway(ms), turnedAway(ms))
      const acquiring = follow(locks.tryAcquire(`k${ms}`), clock)
      await clock.advance(200)
      expect(acquiring.state).toBe('fulfilled')
    }
  })

  it('lets an abort through at once, and is asked to undo the acquire when it wants to be asked again', async () => {
    store.next('acquire', turnedAway(4_000, 'unknown'))
    const stop = new AbortController()
    const acquiring = follow(locks.acquire('k', { signal: stop.signal, ttl: '30s' }), clock)
    await clock.advance(1_000)
    stop.abort('enough')
    await clock.advance(0)
    expect(acquiring.reason).toBe('enough')
    await clock.advance(30_000)
    expect([times('acquire'), times('release'), clock.pending]).toEqual([[0], [4_000], 0])
  })

  it('has an earlier attempt’s answer waited for', async () => {
    store.next('acquire', replyAfter(1_500), turnedAway(60_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(20_000)
    expect(times('acquire')).toEqual([0, 1_000])
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 1_500 })
  })

  it('says so to an earlier attempt, and a later one heeds it', async () => {
    const late: Fate = async (sending) => {
      await new Promise<void>((resolve) => void clock.schedule(resolve, 1_200))
      return turnedAway(3_000)(sending)
    }
    store.next('acquire', late, replyAfter(60_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(9_000)
    expect(times('acquire').slice(0, 3)).toEqual([0, 1_000, 4_200])
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 4_200 })
  })

  it('is not asked by each of a long line in turn', async () => {
    store.always('acquire', turnedAway(8_000))
    const line = Array.from({ length: 100 }, () => follow(locks.acquire('k', { wait: '5s' }), clock))
    await clock.advance(0)
    expect(line.map(({ reason }) => reason)).toEqual(Array(100).fill(unavailableFor('no')))
    expect(times('acquire')).toEqual([0])
  })

  it('is asked again by those of a line who have the time', async () => {
    store.next('acquire', turnedAway(4_000))
    const short = follow(locks.acquire('k', { wait: '3s' }), clock)
    const long = follow(locks.acquire('k', { wait: '9s' }), clock)
    const second = follow(locks.acquire('k', { wait: '2s' }), clock)
    await clock.advance(9_000)
    expect(times('acquire')).toEqual([0, 4_000])
    expect(long).toMatchObject({ state: 'fulfilled', atMs: 4_000 })
    for (const { reason } of [short, second]) expect(reason).toEqual(unavailableFor('no'))
  })

  it('tells a waiter, who had been refused, that it is not there', async () => {
    await store.acquire(
      [{ key: 'k', acquisitionId: 'foreign', ttlMs: 3_600_000, fences: 1 }],
      callUntil(new AbortController().signal),
    )
    store.next('acquire', answered)
    store.always('acquire', turnedAway(60_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    expect(acquiring.reason).toEqual(unavailableFor('no'))
    // One of them is by the occupier.
    expect(store.called('acquire')).toHaveLength(3)
  })
})

describe('a lease whose store wants to be asked nothing for a while', () => {
  it('is renewed when that is over', async () => {
    const lease = await locks.acquire('k', { ttl: '30s' })
    store.next('renew', turnedAway(4_000))
    await clock.advance(25_000)
    const [first = 0, second = 0, third = Infinity] = times('renew')
    expect(second - first).toBe(4_000)
    expect(third - second).toBeGreaterThan(8_000)
    expect(lease.signal.aborted).toBe(false)
  })

  it('is tried again a third of its ttl later all the same, and lost when its validity ends', async () => {
    const lease = await locks.acquire('k', { ttl: '30s' })
    const { signal } = lease
    store.always('renew', turnedAway(3_600_000))
    await clock.advance(30_000)
    expect(signal.reason).toMatchObject({ reason: 'unreachable' })
    const tried = times('renew')
    expect(tried.length).toBeGreaterThanOrEqual(2)
    for (const [index, at] of tried.entries()) if (index > 0) expect(at - (tried[index - 1] ?? 0)).toBe(10_000)
    expect(clock.pending).toBe(0)
  })

  it('is renewed by its schedule again once a renewal was answered in between', async () => {
    const lease = await locks.acquire('k', { ttl: '30s' })
    store.next('renew', turnedAway(120_000))
    await clock.advance(12_000)
    await lease.renew({ ttl: '30s' })
    await clock.advance(60_000)
    expect(lease.signal.aborted).toBe(false)
    expect(times('renew').length).toBeGreaterThan(4)
    await lease.release()
  })

  it('is renewed soon after a renewal without an answer that says nothing of it', async () => {
    await locks.acquire('k', { ttl: '30s' })
    store.next('renew', unavailable('unknown'))
    await clock.advance(16_000)
    const [first = 0, second = Infinity] = times('renew')
    expect(second - first).toBeLessThan(100)
  })

  it('is given back when that is over, or tells at once that it cannot be', async () => {
    const lease = await locks.acquire('a', { ttl: '30s', renew: false })
    store.next('release', turnedAway(1_500))
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_500)
    expect(releasing).toMatchObject({ value: 'released', atMs: 1_500 })
    const other = await locks.acquire('b', { ttl: '30s', renew: false })
    store.next('release', turnedAway(2_000))
    const given = follow(other.release(), clock)
    await clock.advance(0)
    expect(given.value).toBe('unknown')
    expect(store.called('release')).toHaveLength(3)
  })

  it('tells at once that it cannot be extended', async () => {
    const lease = await locks.acquire('k', { ttl: '30s', renew: false })
    store.next('renew', turnedAway(2_000))
    const renewing = follow(lease.renew({ ttl: '30s' }), clock)
    await clock.advance(0)
    expect(renewing.reason).toEqual(unavailableFor('no'))
    expect([store.called('renew').length, lease.remaining() > 29_000]).toEqual([1, true])
  })

  it('is not checked by those who wait behind it, nor do they try before that is over', async () => {
    const lease = await locks.acquire('k', { ttl: '60s', renew: false })
    const waiting = follow(locks.acquire('k', { wait: '20s' }), clock)
    store.always('inspect', turnedAway(5_000))
    await clock.advance(8_000)
    const [first = 0, second = 0, third] = times('inspect')
    expect(second - first).toBeGreaterThanOrEqual(5_000)
    expect(third).toBeUndefined()
    // Not handed off, because its expiry is too far away.
    await lease.release()
    await clock.advance(10_000)
    expect(waiting).toMatchObject({ state: 'fulfilled', atMs: second + 5_000 })
  })

  it('is not said to be held once it was given back, though nobody may ask', async () => {
    const lease = await locks.acquire('k', { ttl: '60s', renew: false })
    const waiting = follow(locks.acquire('k', { wait: '9s' }), clock)
    store.always('inspect', turnedAway(60_000))
    await clock.advance(5_000)
    await lease.release()
    await clock.advance(0)
    expect(waiting.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
  })
})
