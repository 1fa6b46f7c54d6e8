import { callUntil, follow, ScriptedNotifier, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { gaps, occupy, triedAtMs } from '../../test/waits.ts'
import { createLocker, type Locker, type LockerOptions } from '../locker.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { poll } from '../timing/backoff.ts'

const { signal: unstopped } = new AbortController()

let { store, clock } = testLocker()
beforeEach(() => {
  ;({ store, clock } = testLocker())
})

const locker = (options: Omit<LockerOptions, 'store' | 'clock'> = {}): Locker =>
  createLocker({ store, clock, ttl: '10s', wait: '1m', ...options })

describe('a waiter with a notifier', () => {
  it('subscribes after its first contended try, and not for a lock that is free', async () => {
    const notifier = new ScriptedNotifier()
    const locks = locker({ notifier })
    await (await locks.acquire('k')).release()
    expect(notifier.subscriptions).toEqual([])
    await occupy(store)
    follow(locks.acquire('k'), clock)
    await clock.advance(0)
    const state = await locks.inspect('k')
    expect(notifier.subscriptions).toMatchObject([{ key: 'k', cursor: String(state.held && state.fence) }])
  })

  it('does not subscribe where it does not wait', async () => {
    const notifier = new ScriptedNotifier()
    const locks = locker({ notifier })
    await occupy(store)
    expect(await locks.tryAcquire('k')).toBeNull()
    await expect(locks.acquire('k', { wait: 0 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    expect(notifier.subscriptions).toEqual([])
  })

  it('does not subscribe when its first contention spent its budget', async () => {
    const notifier = new ScriptedNotifier()
    await occupy(store)
    const acquiring = follow(locker({ notifier }).acquire('k', { budget: 1 }), clock)
    await clock.advance(0)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 1 })
    expect(notifier.subscriptions).toEqual([])
  })

  it('tries once more when the subscription is confirmed: a release in between was heard by nobody', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(100)
    await release()
    await clock.advance(700)
    expect(acquiring.state).toBe('pending')
    notifier.subscriptions[0]?.confirm()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 800 })
    expect(acquiring.value?.commands).toBe(2)
  })

  it('does not wait for a confirmation for ever', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(0)
    await release()
    await clock.advance(1_000)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 1_000 })
  })

  it('is granted as soon as a signal says that the lock was released', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(600)
    expect(triedAtMs(store)).toEqual([0, 0])
    await release()
    notifier.signal()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 600 })
    expect(acquiring.value?.commands).toBe(3)
  })

  it('is woken by a signal that came while it was trying', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(0)
    store.next('acquire', async ({ execute }) => {
      const outcomes = await execute()
      await release()
      notifier.signal()
      return outcomes
    })
    await clock.advance(1_100)
    expect(acquiring.state).toBe('fulfilled')
    const [retry, afterSignal] = triedAtMs(store).slice(-2)
    expect(afterSignal).toBe(retry)
  })

  it('checks for itself after a second when no signal comes', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(100)
    await release()
    await clock.advance(899)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 1_000 })
  })

  it('asks the store once per recheck while nothing happens', async () => {
    await occupy(store)
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k', { recheck: '7s' }), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    expect(triedAtMs(store)).toEqual([0, 0, 7_000, 14_000, 21_000, 28_000, 35_000, 42_000, 49_000, 56_000])
  })

  it('checks when the time of a dead holder ends', async () => {
    await occupy(store, 300)
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k'), clock)
    await clock.advance(300)
    expect(acquiring.state).toBe('pending')
    await clock.advance(51)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.commands).toBe(3)
  })

  it('does not spin behind a holder that always seems about to expire', async () => {
    const acquisitionId = drawAcquisitionId()
    const take = () => store.acquire([{ key: 'k', acquisitionId, ttlMs: 5, fences: 1 }], callUntil(unstopped))
    await take()
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k'), clock)
    for (let ms = 0; ms < 10_000; ms += 2) {
      await clock.advance(2)
      await take()
    }
    expect(acquiring.state).toBe('pending')
    const tries = store.called('acquire').filter(({ requests }) => requests[0]?.acquisitionId !== acquisitionId)
    expect(tries.length).toBeLessThan(25)
  })

  it('does not spin on signals for nothing: the distance between tries grows up to a second', async () => {
    await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let ms = 0; ms < 10_000; ms++) {
      notifier.signal()
      await clock.advance(1)
    }
    expect(acquiring.state).toBe('pending')
    const pauses = gaps(triedAtMs(store).slice(2))
    expect(pauses.slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 640, 1_000])
    expect(triedAtMs(store).length).toBeLessThan(25)
  })

  it('keeps a signal that comes during that distance', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let spurious = 0; spurious < 6; spurious++) {
      notifier.signal()
      await clock.advance(320)
    }
    const lastMs = triedAtMs(store).at(-1) ?? 0
    await release()
    notifier.signal()
    await clock.advance(320)
    expect(acquiring.state).toBe('fulfilled')
    expect((acquiring.atMs ?? 0) - lastMs).toBeLessThanOrEqual(320)
  })

  it('starts over with the distance when there is a new holder', async () => {
    let release = await occupy(store)
    const notifier = new ScriptedNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let spurious = 0; spurious < 8; spurious++) {
      notifier.signal()
      await clock.advance(1_000)
    }
    await release()
    release = await occupy(store)
    notifier.signal()
    await clock.advance(2_000)
    store.calls.length = 0
    await release()
    const sinceMs = clock.monotonicMs()
    notifier.signal()
    await clock.advance(20)
    expect(acquiring.state).toBe('fulfilled')
    expect((acquiring.atMs ?? 0) - sinceMs).toBeLessThanOrEqual(20)
  })

  it('falls back to its strategy while the notifier hears nothing', async () => {
    await occupy(store)
    const notifier = new ScriptedNotifier()
    const locks = locker({ notifier, strategy: poll({ every: 100 }) })
    const acquiring = follow(locks.acquire('k', { recheck: '10s' }), clock)
    await clock.advance(5_000)
    expect(triedAtMs(store)).toHaveLength(2)
    const [subscription] = notifier.subscriptions
    if (subscription) subscription.live = false
    await clock.advance(5_000)
    expect(triedAtMs(store)).toEqual([0, 0, 10_000])
    await clock.advance(5_000)
    const pauses = gaps(triedAtMs(store).filter((atMs) => atMs >= 10_000))
    expect(pauses.length).toBeGreaterThan(35)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(150.1)
    if (subscription) subscription.live = true
    await clock.advance(1_000)
    const sinceMs = clock.monotonicMs()
    await clock.advance(9_000)
    expect(triedAtMs(store).filter((atMs) => atMs > sinceMs).length).toBeLessThanOrEqual(1)
    expect(acquiring.state).toBe('pending')
  })

  it('checks by itself while the subscription takes long, however long it would rely on it', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k', { recheck: '30s' }), clock)
    await clock.advance(1_500)
    await release()
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
  })

  it('polls when the subscription turns out to be impossible', async () => {
    await occupy(store)
    const notifier = new ScriptedNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(0)
    notifier.subscriptions[0]?.confirm(false)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('pending')
    expect(triedAtMs(store).length).toBeGreaterThan(6)
  })

  it('counts its commands, and its budget ends the wait', async () => {
    await occupy(store)
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k', { budget: 4 }), clock)
    await clock.advance(2_000)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_000, reason: { commands: 4 } })
  })

  it('is not late for its deadline because of a floor or a recheck', async () => {
    await occupy(store)
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k', { wait: 1_234 }), clock)
    await clock.advance(1_233)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 1_234 })
  })

  it('hundreds of idle waiters ask about once per second each', async () => {
    await occupy(store)
    const locks = locker({ notifier: new ScriptedNotifier() })
    for (let waiter = 0; waiter < 200; waiter++) follow(locks.acquire('k'), clock)
    await clock.advance(0)
    store.calls.length = 0
    await clock.advance(10_000)
    expect(store.calls.length).toBeLessThanOrEqual(200 * 10)
  })

  it('waiters of a dead holder do not all check in the same millisecond', async () => {
    await occupy(store, 500)
    // A locker each: among the waiters of one locker, one would check for all.
    for (let waiter = 0; waiter < 100; waiter++) {
      follow(locker({ notifier: new ScriptedNotifier(), ttl: '1h' }).acquire('k'), clock)
    }
    await clock.advance(499)
    store.calls.length = 0
    await clock.advance(60)
    const times = triedAtMs(store)
    expect(times).toHaveLength(100)
    const perMs = Map.groupBy(times, (atMs) => Math.floor(atMs))
    expect(perMs.size).toBeGreaterThan(20)
  })
})

describe('a waiter whose notifier checks for itself', () => {
  it('does not try again after subscribing, nor when the holder expires: it is told', async () => {
    const release = await occupy(store, 500)
    const notifier = new ScriptedNotifier({ checks: true })
    const acquiring = follow(locker({ notifier }).acquire('k', { recheck: '30s' }), clock)
    await clock.advance(10_000)
    expect(triedAtMs(store)).toEqual([0])
    await release()
    notifier.signal()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 10_000 })
    expect(acquiring.value?.commands).toBe(2)
  })

  it('checks when the remaining time is over of a holder that the notifier does not watch', async () => {
    await occupy(store, 500)
    const notifier = new ScriptedNotifier({ checks: true })
    const acquiring = follow(locker({ notifier }).acquire('k', { recheck: '30s' }), clock)
    await clock.advance(0)
    const [subscription] = notifier.subscriptions
    if (subscription) subscription.checks = false
    notifier.signal()
    await clock.advance(1_000)
    expect(acquiring).toMatchObject({ state: 'fulfilled' })
    expect(acquiring.atMs).toBeLessThanOrEqual(600)
  })

  it('takes what it learnt while it was subscribing for a signal', async () => {
    const release = await occupy(store)
    const notifier = new ScriptedNotifier({ checks: true, confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(200)
    await release()
    const [subscription] = notifier.subscriptions
    subscription?.signal()
    subscription?.confirm()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 200 })
  })

  it('watches the holder itself while it hears nothing', async () => {
    await occupy(store, 500)
    const notifier = new ScriptedNotifier({ checks: true, confirms: false })
    const locks = locker({ notifier, strategy: poll({ every: '10m' }) })
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    notifier.subscriptions[0]?.confirm(false)
    await clock.advance(551)
    expect(acquiring.state).toBe('fulfilled')
  })
})

describe('waiters that share a memory notifier', () => {
  it('are all served, one after the other, each within moments of the release before', async () => {
    const real = memoryStore({ clock })
    store = new ScriptedStore(clock, real)
    const locks = locker({ notifier: memoryNotifier(real) })
    const holder = await locks.acquire('k')
    let inside = 0
    const served: number[] = []
    const work = async (): Promise<void> => {
      inside++
      expect(inside).toBe(1)
      await Promise.resolve()
      served.push(clock.monotonicMs())
      inside--
    }
    const waiters = Array.from({ length: 30 }, () => follow(locks.withLock('k', work), clock))
    await clock.advance(500)
    await holder.release()
    await clock.advance(5_000)
    expect(waiters.filter(({ state }) => state === 'fulfilled')).toHaveLength(30)
    expect(served.length).toBe(30)
    expect(await locks.isLocked('k')).toBe(false)
  })
})
