import { getEventListeners } from 'node:events'
import { callUntil, follow, requestLost, ScriptedNotifier, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { gaps, occupy, triedAtMs } from '../../test/waits.ts'
import { createLocker, type Locker, type LockerOptions } from '../locker.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { backoff, poll } from '../timing/backoff.ts'

const { signal: unstopped } = new AbortController()

let { store, clock } = testLocker()
beforeEach(() => {
  ;({ store, clock } = testLocker())
})

const locker = (options: Omit<LockerOptions, 'store' | 'clock'> = {}): Locker =>
  createLocker({ store, clock, ttl: '10s', wait: '1m', ...options })

describe('a waiter without a notifier', () => {
  it('backs off: each pause up to twice the one before, at most a second, never less than half of that', async () => {
    await occupy(store)
    const acquiring = follow(locker().acquire('k'), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    const pauses = gaps(triedAtMs(store))
    expect(pauses.length).toBeGreaterThan(60)
    for (const [at, pause] of pauses.slice(0, -1).entries()) {
      const most = Math.min(1_000, 10 * 2 ** at)
      expect(pause).toBeGreaterThanOrEqual(most / 2)
      expect(pause).toBeLessThanOrEqual(most + 0.1)
    }
  })

  it('polls on a beat of its own if told so', async () => {
    await occupy(store)
    const acquiring = follow(locker({ strategy: poll({ every: 50 }) }).acquire('k'), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    const pauses = gaps(triedAtMs(store)).slice(0, -1)
    for (const pause of pauses) {
      expect(pause).toBeGreaterThanOrEqual(24.9)
      expect(pause).toBeLessThanOrEqual(75.1)
    }
    expect(60_000 / pauses.length).toBeGreaterThan(45)
    expect(60_000 / pauses.length).toBeLessThan(55)
  })

  it('waiters of one lock do not poll on the same beat', async () => {
    await occupy(store)
    // A locker each: among the waiters of one locker, only one polls.
    for (let waiter = 0; waiter < 50; waiter++) follow(locker({ strategy: poll({ every: '1s' }) }).acquire('k'), clock)
    await clock.advance(10_000)
    const times = triedAtMs(store).filter((atMs) => atMs > 0)
    expect(times.length).toBeGreaterThan(300)
    expect(new Set(times).size).toBe(times.length)
  })

  it('checks when the time of a dead holder ends, however slow its strategy is', async () => {
    await occupy(store, 5_000)
    const acquiring = follow(locker({ strategy: poll({ every: '10m' }) }).acquire('k'), clock)
    await clock.advance(5_000)
    expect(acquiring.state).toBe('pending')
    await clock.advance(51)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.commands).toBe(2)
  })

  it('is not told to check by a holder without an expiry', async () => {
    await store.acquire(
      [{ key: 'k', acquisitionId: drawAcquisitionId(), ttlMs: Number.POSITIVE_INFINITY, fences: 1 }],
      callUntil(unstopped),
    )
    store.calls.length = 0
    const acquiring = follow(locker({ strategy: backoff({ from: '10s', to: '10s' }) }).acquire('k'), clock)
    await clock.advance(4_999)
    expect(triedAtMs(store)).toEqual([0])
    await clock.advance(55_001)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  })
})

describe('an ended wait leaves nothing behind', () => {
  let notifier: ScriptedNotifier
  let caller: AbortController
  let locks: Locker

  beforeEach(() => {
    notifier = new ScriptedNotifier()
    caller = new AbortController()
    locks = locker({ notifier, renew: false })
  })

  const nothingIsLeft = (): void => {
    expect(notifier.subscriptions.every(({ closed, kept }) => closed && kept === 0)).toBe(true)
    expect(getEventListeners(caller.signal, 'abort')).toEqual([])
    expect(clock.timers.filter(({ background }) => !background)).toEqual([])
  }

  it('when it was granted', async () => {
    const release = await occupy(store)
    const { signal } = caller
    const acquiring = follow(locks.acquire('k', { signal }), clock)
    await clock.advance(100)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await release()
    notifier.signal()
    await clock.advance(0)
    expect(acquiring.state).toBe('fulfilled')
    nothingIsLeft()
    await acquiring.value?.release()
    expect(clock.pending).toBe(0)
  })

  it('when its time was over', async () => {
    await occupy(store)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal, wait: '3s' }), clock)
    await clock.advance(3_000)
    expect(acquiring.state).toBe('rejected')
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it.each([0, 5, 700, 1_000, 2_500])('when it was aborted after %d ms', async (ms) => {
    await occupy(store)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(ms)
    caller.abort()
    await clock.advance(0)
    expect(acquiring.state).toBe('rejected')
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('when it was aborted while its subscription was not confirmed yet', async () => {
    await occupy(store)
    notifier = new ScriptedNotifier({ confirms: false })
    locks = locker({ notifier })
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(300)
    caller.abort()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 300 })
    notifier.subscriptions[0]?.confirm()
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('when the locker was closed', async () => {
    await occupy(store)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(300)
    await locks.close()
    await clock.advance(0)
    expect(acquiring.reason).toMatchObject({ code: 'CLOSED' })
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('when the store stopped answering', async () => {
    await occupy(store)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal, wait: '5s' }), clock)
    await clock.advance(0)
    store.always('acquire', requestLost)
    await clock.advance(5_000)
    expect(acquiring.state).toBe('rejected')
    await clock.advance(10_000)
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('on a signal that outlives a thousand waits', async () => {
    const { signal } = caller
    for (let wait = 0; wait < 1_000; wait++) await (await locks.acquire('k', { signal })).release()
    nothingIsLeft()
  })
})

describe('a budget that calls share', () => {
  it('is used up by all of them; then waits end, and calls that begin are refused by name before anything is sent', async () => {
    await occupy(store)
    const budget = { left: 6 }
    const sharing = [locker({ budget }), locker({ budget })] as const
    const waits = sharing.map((locks) => follow(locks.acquire('k'), clock))
    await clock.advance(50_000)
    for (const { reason } of waits) {
      expect(reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', message: expect.stringContaining('bridge') })
    }
    expect([store.calls.length, budget.left]).toEqual([6, 0])
    await expect(sharing[0].tryAcquire('c')).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'budget' })
    await expect(sharing[1].acquire('c')).rejects.toThrow('bridge')
    expect(store.calls.length).toBe(6)
  })

  it('does not keep a lease from being renewed and released', async () => {
    const lease = await locker({ budget: { left: 1 } }).acquire('k')
    await clock.advance(30_000)
    expect(lease.signal.aborted).toBe(false)
    expect(await lease.release()).toBe('released')
  })
})
