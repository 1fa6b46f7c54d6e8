import { follow, replyAfter, replyLost, requestAfter, ScriptedNotifier, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type LockerEvent, poll } from '../index.ts'

const setUp = () => testLocker({ wait: '1m' })
let { locks, store, clock, events, elsewhere: operator } = setUp()
beforeEach(() => {
  ;({ locks, store, clock, events, elsewhere: operator } = setUp())
})

const nothing = async (): Promise<void> => undefined

const losses = (): unknown[] => events.flatMap((event) => (event.type === 'lost' ? [event.reason] : []))

describe('a head start', () => {
  it('that another has replaced is forgotten with its timer, which ends no later contest of its key', async () => {
    const waiters: Promise<unknown>[] = []
    const enqueue = (count: number, every: '10s' | '10ms'): void => {
      for (let at = 0; at < count; at++)
        waiters.push(locks.withLock('k', { strategy: poll({ every }), renew: true }, nothing))
    }
    const first = await locks.acquire('k')
    enqueue(16, '10s')
    const stop = new AbortController()
    const leaves = follow(
      locks.withLock('k', { strategy: poll({ every: '10s' }), signal: stop.signal }, nothing),
      clock,
    )
    // A whole run of hand-offs, then a head start of 5 to 15 s before the one remaining call.
    await first.release()
    await clock.advance(0)
    stop.abort()
    // Meanwhile somebody takes the free lock, and calls that the head start would not cover wait behind.
    const turn = await locks.tryAcquire('k')
    enqueue(18, '10ms')
    await turn?.release()
    await clock.advance(20)
    await Promise.all(waiters)
    expect(leaves.state).toBe('rejected')
    expect(clock.pending).toBe(0)

    const holder = await locks.acquire('k')
    const waiting = follow(locks.withLock('k', nothing), clock)
    await clock.advance(16_000)
    await holder.release()
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
  })
})

describe('a lock that was revoked elsewhere', () => {
  it.each([
    ['an hour', { ttl: '1h', renew: false }],
    ['ten minutes, renewed', { ttl: '10m' }],
  ] as const)('is noticed within a second by those who wait behind it here: a lease of %s', async (_, options) => {
    const lease = await locks.acquire('k', options)
    const waiting = follow(locks.acquire('k', { wait: '5m' }), clock)
    await clock.advance(5_000)
    expect(lease.signal.aborted).toBe(false)
    await operator.revoke('k')
    await clock.advance(1_000)
    expect([lease.signal.aborted, waiting.state]).toEqual([true, 'fulfilled'])
    expect(losses()).toEqual(['gone'])
  })

  it('and taken by another is noticed as that', async () => {
    const lease = await locks.acquire('k', { ttl: '1h', renew: false })
    const waiting = follow(locks.acquire('k', { wait: '5m' }), clock)
    await operator.revoke('k')
    const taken = await operator.acquire('k')
    await clock.advance(1_000)
    expect([lease.signal.aborted, waiting.state]).toEqual([true, 'pending'])
    expect(losses()).toEqual(['superseded'])
    await taken.release()
    await clock.advance(1_000)
    expect(waiting.state).toBe('fulfilled')
  })

  it('is noticed within the recheck of who waits with a notifier', async () => {
    const notifier = new ScriptedNotifier()
    const told = createLocker({ store, clock, notifier, recheck: '4s', wait: '1m' })
    await told.acquire('k', { ttl: '1h', renew: false })
    const waiting = follow(told.acquire('k'), clock)
    await clock.advance(0)
    await operator.revoke('k')
    await clock.advance(3_999)
    expect(waiting.state).toBe('pending')
    await clock.advance(1)
    expect(waiting.state).toBe('fulfilled')
  })

  it('is noticed when a try of this process is granted it', async () => {
    const lease = await locks.acquire('k', { ttl: '1h', renew: false })
    await operator.revoke('k')
    const next = await locks.tryAcquire('k')
    await clock.advance(0)
    expect([lease.signal.aborted, next?.signal.aborted]).toEqual([true, false])
    expect(losses()).toEqual(['gone'])
  })

  it('costs no check while nobody waits, nor one where a renewal has just asked', async () => {
    await locks.acquire('k', { ttl: '1h', renew: false })
    await clock.advance(60_000)
    expect(store.called('inspect')).toEqual([])
    const renewed = await locks.acquire('other', { ttl: '2s' })
    follow(locks.acquire('other'), clock)
    await clock.advance(30_000)
    expect(store.called('inspect')).toEqual([])
    await renewed.release()
  })

  it('is noticed by the next check when the store rejected one, which it may not', async () => {
    const lease = await locks.acquire('k', { ttl: '1h', renew: false })
    const waiting = follow(locks.acquire('k', { wait: '5m' }), clock)
    await operator.revoke('k')
    store.next('inspect', () => Promise.reject(new Error('a bug of the store')))
    await clock.advance(1_000)
    expect([lease.signal.aborted, waiting.state]).toEqual([false, 'pending'])
    await clock.advance(1_000)
    expect([lease.signal.aborted, waiting.state]).toEqual([true, 'fulfilled'])
  })

  it('costs one check a second, however many wait', async () => {
    const holder = await locks.acquire('k', { ttl: '1h', renew: false })
    const waiting = Array.from({ length: 50 }, () => follow(locks.acquire('k', { wait: '10s' }), clock))
    await clock.advance(10_500)
    expect(waiting.map(({ state }) => state)).toEqual(waiting.map(() => 'rejected'))
    expect(store.called('inspect').length).toBeLessThanOrEqual(10)
    expect(store.called('inspect').length).toBeGreaterThanOrEqual(9)
    // Nobody waits anymore.
    await holder.release()
    expect(clock.pending).toBe(0)
  })
})

describe('a release whose answer is lost', () => {
  it.each(['before', 'while'] as const)('does not hold up who has begun to wait %s it is given back', async (when) => {
    const holder = await locks.acquire('k')
    // No hand-off: the lease goes back to the store.
    expect(holder.token).toBeTypeOf('string')
    store.next('release', replyLost)
    const before = when === 'before' && follow(locks.acquire('k'), clock)
    const releasing = follow(holder.release(), clock)
    const waiting = before || follow(locks.acquire('k'), clock)
    await clock.advance(100)
    expect([waiting.state, releasing.state]).toEqual(['fulfilled', 'pending'])
    await clock.advance(900)
    expect(waiting.value?.signal.aborted).toBe(false)
  })

  it('holds up nobody who comes when it has been waited for long enough', async () => {
    const holder = await locks.acquire('k')
    expect(holder.token).toBeTypeOf('string')
    store.next('release', replyLost)
    void holder.release()
    await clock.advance(400)
    const late = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    expect(late.state).toBe('fulfilled')
  })

  it('leaves no timer where it was answered in time', async () => {
    store.always('release', replyAfter(20))
    const holder = await locks.acquire('k')
    expect(holder.token).toBeTypeOf('string')
    const waiting = follow(
      locks.acquire('k').then((lease) => lease.release()),
      clock,
    )
    void holder.release()
    await clock.advance(60)
    expect([waiting.state, clock.pending]).toEqual(['fulfilled', 0])
  })
})

it('a release that was only slow wakes a waiter that met its entry', async () => {
  const holder = await locks.acquire('k')
  expect(holder.token).toBeTypeOf('string')
  const waiting = follow(locks.acquire('k', { strategy: poll({ every: '20s' }) }), clock)
  store.next('release', requestAfter(300))
  void holder.release()
  await clock.advance(299)
  expect(waiting.state).toBe('pending')
  await clock.advance(1)
  expect(waiting.state).toBe('fulfilled')
})

it('a release wakes a waiter whose first try has no answer yet', async () => {
  const theirs = await operator.acquire('k')
  store.next('acquire', replyAfter(300))
  const waiting = follow(locks.acquire('k', { strategy: poll({ every: '20s' }) }), clock)
  await clock.advance(100)
  await theirs.release()
  const ours = await locks.tryAcquire('k')
  await ours?.release()
  await clock.advance(200)
  expect(waiting.state).toBe('fulfilled')
})

it('a listener of `wanted` that makes the new holder give up leaves the key to the next in line', async () => {
  const holder = new AbortController()
  const onEvent = ({ type }: LockerEvent): void => {
    if (type === 'wanted') holder.abort(new Error('somebody else wants it'))
  }
  const { locks, clock } = testLocker({ wait: '1m', onEvent })
  const first = follow(locks.acquire('k', { signal: holder.signal }), clock)
  const next = follow(locks.acquire('k'), clock)
  await clock.advance(100)
  expect([first.reason, next.state]).toEqual([holder.signal.reason, 'fulfilled'])
})
