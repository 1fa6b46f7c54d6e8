import { getEventListeners } from 'node:events'
import { follow, ManualClock, requestLost, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type Locker, type LockerOptions } from './locker.ts'
import { memoryNotifier, memoryStore } from './memory/index.ts'
import type { ReleaseNotifier, Subscription } from './release-notifier.ts'
import { backoff, poll } from './timing/backoff.ts'
import { drawOwner } from './token.ts'

const { signal: unstopped } = new AbortController()

/** A notifier that says what the test says. */
class ToldNotifier implements ReleaseNotifier {
  readonly recheckMs = 1_000
  readonly looks: boolean
  readonly subscriptions: ToldSubscription[] = []
  /** Whether its subscriptions are confirmed at once. */
  readonly #confirms: boolean

  constructor(how: { readonly looks?: boolean; readonly confirms?: boolean } = {}) {
    this.looks = how.looks ?? false
    this.#confirms = how.confirms ?? true
  }

  subscribe(key: string, cursor: string): ToldSubscription {
    const subscription = new ToldSubscription(key, cursor)
    this.subscriptions.push(subscription)
    if (this.#confirms) subscription.confirm()
    return subscription
  }

  /** Tells every waiter. */
  signal(): void {
    for (const subscription of this.subscriptions) subscription.signal()
  }

  async close(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.close()
  }
}

class ToldSubscription implements Subscription {
  readonly key: string
  readonly cursor: string
  live = false
  signals = 0
  closed = false
  readonly #confirmed = Promise.withResolvers<void>()
  readonly #callbacks = new Set<() => void>()

  constructor(key: string, cursor: string) {
    this.key = key
    this.cursor = cursor
  }

  get ready(): Promise<void> {
    return this.#confirmed.promise
  }

  /** How many callbacks it keeps. */
  get kept(): number {
    return this.#callbacks.size
  }

  confirm(live = true): void {
    this.live = live
    this.#confirmed.resolve()
  }

  signal(): void {
    this.signals++
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    for (const callback of callbacks) callback()
  }

  onSignal(seen: number, callback: () => void): () => void {
    if (this.signals > seen) callback()
    else this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }

  close(): void {
    this.closed = true
  }
}

let clock: ManualClock
let store: ScriptedStore

beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
})

/** Somebody elsewhere takes the lock. Returns what gives it back. */
async function occupy(ttlMs = 3_600_000): Promise<() => Promise<void>> {
  const owner = drawOwner()
  await store.acquire([{ key: 'k', owner, ttlMs, fences: 1 }], unstopped)
  store.calls.length = 0
  return async () => {
    await store.release([{ key: 'k', owner }], unstopped)
  }
}

const locker = (options: Omit<LockerOptions, 'store' | 'clock'> = {}): Locker =>
  createLocker({ store, clock, ttl: '10s', wait: '1m', ...options })

const triedAtMs = (): number[] => store.called('acquire').map(({ atMs }) => atMs)

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, at) => time - (times[at] ?? 0))

describe('a waiter without a notifier', () => {
  it('backs off: each pause up to twice the one before, at most a second, never less than half of that', async () => {
    await occupy()
    const acquiring = follow(locker().acquire('k'), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    const pauses = gaps(triedAtMs())
    expect(pauses.length).toBeGreaterThan(60)
    for (const [at, pause] of pauses.slice(0, -1).entries()) {
      const most = Math.min(1_000, 10 * 2 ** at)
      expect(pause).toBeGreaterThanOrEqual(most / 2)
      expect(pause).toBeLessThanOrEqual(most + 0.1)
    }
  })

  it('polls on a beat of its own if told so', async () => {
    await occupy()
    const acquiring = follow(locker({ strategy: poll({ every: 50 }) }).acquire('k'), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    const pauses = gaps(triedAtMs()).slice(0, -1)
    for (const pause of pauses) {
      expect(pause).toBeGreaterThanOrEqual(24.9)
      expect(pause).toBeLessThanOrEqual(75.1)
    }
    expect(60_000 / pauses.length).toBeGreaterThan(45)
    expect(60_000 / pauses.length).toBeLessThan(55)
  })

  it('waiters of one lock do not poll on the same beat', async () => {
    await occupy()
    const locks = locker({ strategy: poll({ every: '1s' }) })
    for (let waiter = 0; waiter < 50; waiter++) follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    const times = triedAtMs().filter((atMs) => atMs > 0)
    expect(times.length).toBeGreaterThan(300)
    expect(new Set(times).size).toBe(times.length)
  })

  it('looks when the time of a dead holder ends, however slow its strategy is', async () => {
    await occupy(5_000)
    const acquiring = follow(locker({ strategy: poll({ every: '10m' }) }).acquire('k'), clock)
    await clock.advance(5_000)
    expect(acquiring.state).toBe('pending')
    await clock.advance(51)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.commands).toBe(2)
  })

  it('is not told to look by a holder without an expiry', async () => {
    await store.acquire([{ key: 'k', owner: drawOwner(), ttlMs: Number.POSITIVE_INFINITY, fences: 1 }], unstopped)
    store.calls.length = 0
    const acquiring = follow(locker({ strategy: backoff({ from: '10s', to: '10s' }) }).acquire('k'), clock)
    await clock.advance(4_999)
    expect(triedAtMs()).toEqual([0])
    await clock.advance(55_001)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  })
})

describe('a waiter with a notifier', () => {
  it('subscribes after its first refusal, and not for a lock that is free', async () => {
    const notifier = new ToldNotifier()
    const locks = locker({ notifier })
    await (await locks.acquire('k')).release()
    expect(notifier.subscriptions).toEqual([])
    await occupy()
    follow(locks.acquire('k'), clock)
    await clock.advance(0)
    const state = await locks.inspect('k')
    expect(notifier.subscriptions).toMatchObject([{ key: 'k', cursor: String(state.held && state.fence) }])
  })

  it('does not subscribe where it does not wait', async () => {
    const notifier = new ToldNotifier()
    const locks = locker({ notifier })
    await occupy()
    expect(await locks.tryAcquire('k')).toBeNull()
    await expect(locks.acquire('k', { wait: 0 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    expect(notifier.subscriptions).toEqual([])
  })

  it('tries once more when the subscription is confirmed: a release in between was heard by nobody', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier({ confirms: false })
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
    const release = await occupy()
    const notifier = new ToldNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(0)
    await release()
    await clock.advance(1_000)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 1_000 })
  })

  it('is granted as soon as a signal says that the lock was released', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(600)
    expect(triedAtMs()).toEqual([0, 0])
    await release()
    notifier.signal()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 600 })
    expect(acquiring.value?.commands).toBe(3)
  })

  it('is woken by a signal that came while it was trying', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier()
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
    const [retry, afterSignal] = triedAtMs().slice(-2)
    expect(afterSignal).toBe(retry)
  })

  it('looks for itself after a second when no signal comes', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(100)
    await release()
    await clock.advance(899)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 1_000 })
  })

  it('asks the store once per recheck while nothing happens', async () => {
    await occupy()
    const acquiring = follow(locker({ notifier: new ToldNotifier() }).acquire('k', { recheck: '7s' }), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    expect(triedAtMs()).toEqual([0, 0, 7_000, 14_000, 21_000, 28_000, 35_000, 42_000, 49_000, 56_000])
  })

  it('looks when the time of a dead holder ends', async () => {
    await occupy(300)
    const acquiring = follow(locker({ notifier: new ToldNotifier() }).acquire('k'), clock)
    await clock.advance(300)
    expect(acquiring.state).toBe('pending')
    await clock.advance(51)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.commands).toBe(3)
  })

  it('does not spin behind a holder that always seems about to expire', async () => {
    const owner = drawOwner()
    const take = () => store.acquire([{ key: 'k', owner, ttlMs: 5, fences: 1 }], unstopped)
    await take()
    const acquiring = follow(locker({ notifier: new ToldNotifier() }).acquire('k'), clock)
    for (let ms = 0; ms < 10_000; ms += 2) {
      await clock.advance(2)
      await take()
    }
    expect(acquiring.state).toBe('pending')
    const tries = store.called('acquire').filter(({ requests }) => requests[0]?.owner !== owner)
    expect(tries.length).toBeLessThan(25)
  })

  it('does not spin on signals for nothing: the distance between tries grows up to a second', async () => {
    await occupy()
    const notifier = new ToldNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let ms = 0; ms < 10_000; ms++) {
      notifier.signal()
      await clock.advance(1)
    }
    expect(acquiring.state).toBe('pending')
    const pauses = gaps(triedAtMs().slice(2))
    expect(pauses.slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 640, 1_000])
    expect(triedAtMs().length).toBeLessThan(25)
  })

  it('keeps a signal that comes during that distance', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let spurious = 0; spurious < 6; spurious++) {
      notifier.signal()
      await clock.advance(320)
    }
    const lastMs = triedAtMs().at(-1) ?? 0
    await release()
    notifier.signal()
    await clock.advance(320)
    expect(acquiring.state).toBe('fulfilled')
    expect((acquiring.atMs ?? 0) - lastMs).toBeLessThanOrEqual(320)
  })

  it('starts over with the distance when there is a new holder', async () => {
    let release = await occupy()
    const notifier = new ToldNotifier()
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    for (let spurious = 0; spurious < 8; spurious++) {
      notifier.signal()
      await clock.advance(1_000)
    }
    await release()
    release = await occupy()
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
    await occupy()
    const notifier = new ToldNotifier()
    const locks = locker({ notifier, strategy: poll({ every: 100 }) })
    const acquiring = follow(locks.acquire('k', { recheck: '10s' }), clock)
    await clock.advance(5_000)
    expect(triedAtMs()).toHaveLength(2)
    const [subscription] = notifier.subscriptions
    if (subscription) subscription.live = false
    await clock.advance(5_000)
    const [, , , ...polled] = triedAtMs()
    expect(polled).toEqual([])
    await clock.advance(5_000)
    const pauses = gaps(triedAtMs().filter((atMs) => atMs >= 10_000))
    expect(pauses.length).toBeGreaterThan(35)
    for (const pause of pauses) expect(pause).toBeLessThanOrEqual(150.1)
    if (subscription) subscription.live = true
    await clock.advance(1_000)
    const sinceMs = clock.monotonicMs()
    await clock.advance(9_000)
    expect(triedAtMs().filter((atMs) => atMs > sinceMs).length).toBeLessThanOrEqual(1)
    expect(acquiring.state).toBe('pending')
  })

  it('polls when the subscription turns out to be impossible', async () => {
    await occupy()
    const notifier = new ToldNotifier({ confirms: false })
    const acquiring = follow(locker({ notifier }).acquire('k'), clock)
    await clock.advance(0)
    notifier.subscriptions[0]?.confirm(false)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('pending')
    expect(triedAtMs().length).toBeGreaterThan(6)
  })

  it('counts its commands, and its budget ends the wait', async () => {
    await occupy()
    const acquiring = follow(locker({ notifier: new ToldNotifier() }).acquire('k', { budget: 4 }), clock)
    await clock.advance(2_000)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_000, reason: { commands: 4 } })
  })

  it('is not late for its deadline because of a floor or a recheck', async () => {
    await occupy()
    const acquiring = follow(locker({ notifier: new ToldNotifier() }).acquire('k', { wait: 1_234 }), clock)
    await clock.advance(1_233)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 1_234 })
  })

  it('hundreds of idle waiters ask about once per second each', async () => {
    await occupy()
    const locks = locker({ notifier: new ToldNotifier() })
    for (let waiter = 0; waiter < 200; waiter++) follow(locks.acquire('k'), clock)
    await clock.advance(0)
    store.calls.length = 0
    await clock.advance(10_000)
    expect(store.calls.length).toBeLessThanOrEqual(200 * 10)
  })

  it('waiters of a dead holder do not all look in the same millisecond', async () => {
    await occupy(500)
    const locks = locker({ notifier: new ToldNotifier(), ttl: '1h' })
    for (let waiter = 0; waiter < 100; waiter++) follow(locks.acquire('k'), clock)
    await clock.advance(499)
    store.calls.length = 0
    await clock.advance(60)
    const times = triedAtMs()
    expect(times).toHaveLength(100)
    const perMs = Map.groupBy(times, (atMs) => Math.floor(atMs))
    expect(perMs.size).toBeGreaterThan(20)
  })
})

describe('a waiter whose notifier looks for itself', () => {
  it('does not try again after subscribing, nor when the holder expires: it is told', async () => {
    const release = await occupy(500)
    const notifier = new ToldNotifier({ looks: true })
    const acquiring = follow(locker({ notifier }).acquire('k', { recheck: '30s' }), clock)
    await clock.advance(10_000)
    expect(triedAtMs()).toEqual([0])
    await release()
    notifier.signal()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'fulfilled', atMs: 10_000 })
    expect(acquiring.value?.commands).toBe(2)
  })

  it('takes what it learnt while it was subscribing for a signal', async () => {
    const release = await occupy()
    const notifier = new ToldNotifier({ looks: true, confirms: false })
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
    await occupy(500)
    const notifier = new ToldNotifier({ looks: true, confirms: false })
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

describe('an ended wait leaves nothing behind', () => {
  let notifier: ToldNotifier
  let caller: AbortController
  let locks: Locker

  beforeEach(() => {
    notifier = new ToldNotifier()
    caller = new AbortController()
    locks = locker({ notifier, renew: false })
  })

  const nothingIsLeft = (timers = 0): void => {
    expect(notifier.subscriptions.every(({ closed, kept }) => closed && kept === 0)).toBe(true)
    expect(getEventListeners(caller.signal, 'abort')).toEqual([])
    expect(clock.timers.filter(({ background }) => !background)).toHaveLength(timers)
  }

  it('when it was granted', async () => {
    const release = await occupy()
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
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal, wait: '3s' }), clock)
    await clock.advance(3_000)
    expect(acquiring.state).toBe('rejected')
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it.each([0, 5, 700, 1_000, 2_500])('when it was aborted after %d ms', async (ms) => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(ms)
    caller.abort()
    await clock.advance(0)
    expect(acquiring.state).toBe('rejected')
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('when it was aborted while its subscription was not confirmed yet', async () => {
    await occupy()
    notifier = new ToldNotifier({ confirms: false })
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
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(300)
    await locks.close()
    expect(acquiring.reason).toMatchObject({ code: 'CLOSED' })
    nothingIsLeft()
    expect(clock.pending).toBe(0)
  })

  it('when the store stopped answering', async () => {
    await occupy()
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
