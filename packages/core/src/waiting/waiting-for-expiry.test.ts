import { follow, ScriptedNotifier, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type Locker, type LockerOptions } from '../index.ts'
import { backoff, poll } from '../timing/backoff.ts'

/** How long after the holder's expiry a waiter may try, in milliseconds. */
const mostLateMs = 50

let { store, clock, elsewhere } = testLocker()
beforeEach(() => {
  ;({ store, clock, elsewhere } = testLocker())
})

const locker = (options: Omit<LockerOptions, 'store' | 'clock'> = {}): Locker =>
  createLocker({ store, clock, wait: '2m', ...options })

const holders = [300, 1_000, 2_500, 7_300, 12_500, 45_000, 61_700]

const waiters: readonly [string, () => Omit<LockerOptions, 'store' | 'clock'>][] = [
  ['with a notifier that hears', () => ({ notifier: new ScriptedNotifier() })],
  ['with a notifier that does not hear yet', () => ({ notifier: new ScriptedNotifier({ confirms: false }) })],
  ['with a notifier and a long recheck', () => ({ notifier: new ScriptedNotifier(), recheck: '1m' })],
  ['without a notifier', () => ({})],
  ['without a notifier, patient', () => ({ strategy: backoff({ to: '1m' }) })],
  ['without a notifier, polling', () => ({ strategy: poll({ every: '10s' }) })],
]

describe.each(waiters)('a waiter %s', (_, options) => {
  it.each(holders)('has the lock of a dead holder at most 50 ms after its ttl of %d ms', async (ttl) => {
    await elsewhere.acquire('k', { ttl, renew: false })
    const acquiring = follow(locker(options()).acquire('k'), clock)
    await clock.advance(ttl - 1)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1 + mostLateMs)
    expect(acquiring.state).toBe('fulfilled')
  })

  it('is as prompt when the holder has renewed a short lease many times before it died', async () => {
    const holder = await elsewhere.acquire('k', { ttl: 120, renew: false })
    const acquiring = follow(locker(options()).acquire('k'), clock)
    for (let renewed = 0; renewed < 100; renewed++) {
      await clock.advance(70)
      await holder.renew({ ttl: 120 })
    }
    await clock.advance(119)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1 + mostLateMs)
    expect(acquiring.state).toBe('fulfilled')
  })
})

describe('a notifier', () => {
  it('that signals for nothing does not put off the check of the end of the holder’s time', async () => {
    const notifier = new ScriptedNotifier()
    await elsewhere.acquire('k', { ttl: '5500ms', renew: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    while (clock.monotonicMs() < 5_500) {
      notifier.signal()
      await clock.advance(5)
    }
    await clock.advance(mostLateMs)
    expect(acquiring.state).toBe('fulfilled')
  })

  it('that is slow to confirm does not put it off either', async () => {
    const notifier = new ScriptedNotifier({ confirms: false })
    await elsewhere.acquire('k', { ttl: 200, renew: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(200 + mostLateMs)
    expect(acquiring.state).toBe('fulfilled')
  })
})

describe('a holder whose time ends and frees nothing', () => {
  it.each(waiters)('does not make a waiter spin: %s', async (_, options) => {
    store.always('acquire', async ({ requests }) =>
      requests.map(() => ({ type: 'held', expiresInMs: 0, cursor: '7' }) as never),
    )
    const acquiring = follow(locker(options()).acquire('k', { wait: '30s' }), clock)
    await clock.advance(30_000)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    // 10, 20, 40 … 1,000 ms apart, or as far as the strategy says.
    expect(store.called('acquire').length).toBeLessThan(75)
  })
})

describe('a release that nobody hears of', () => {
  it('is found within the recheck by a waiter that has waited for long', async () => {
    const holder = await elsewhere.acquire('k', { ttl: '10m' })
    const acquiring = follow(locker({ notifier: new ScriptedNotifier() }).acquire('k'), clock)
    await clock.advance(60_500)
    await holder.release()
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
  })
})
