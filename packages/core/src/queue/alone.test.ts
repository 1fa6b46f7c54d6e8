import { follow, ManualClock, ScriptedNotifier, ScriptedStore, testLocker } from '@leasehold/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { queueing } from '../../test/queueing.ts'
import { poll } from '../index.ts'
import { memoryStore } from '../memory/index.ts'
import { offerPlaces } from '../waiting/kept-places.ts'
import { notifiedWaiter } from '../waiting/notified-waiter.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { SignalCount } from '../waiting/signal-count.ts'
import { fifo } from './index.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** Lockers with stores of their own, and without a notifier that tells processes of turns. */
function alone(notifier?: ReleaseNotifier) {
  const clock = new ManualClock()
  const untimed = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  const behind = memoryStore({ clock: untimed })
  const queueing = (): ReturnType<typeof testLocker> =>
    testLocker({
      clock,
      store: new ScriptedStore(clock, behind),
      queue: fifo(),
      wait: '1m',
      ...(notifier && { notifier }),
    })
  return { clock, one: queueing(), two: queueing() }
}

describe('a queued waiter that nobody tells', () => {
  it('polls, has an inbox of its own, and says that nobody listens to it', async () => {
    const { clock, one, two } = alone()
    const held = await one.locks.acquire('k')
    const waiting = [1, 2].map(() => follow(two.locks.acquire('k', { strategy: poll({ every: '200ms' }) }), clock))
    await clock.advance(3_000)
    const waiters = two.store.called('queue.acquire').map(({ requests: [request] }) => request?.waiter)
    expect(new Set(waiters.map((waiter) => waiter?.inbox)).size).toBe(2)
    expect(waiters[0]).toMatchObject({ listens: false, aliveMs: 18_000, windowMs: 6_000 })
    await held.release()
    await clock.advance(300)
    expect(waiting[0]?.state).toBe('fulfilled')
    expect(waiting[1]?.state).toBe('pending')
    await waiting[0]?.value?.release()
    await clock.advance(300)
    expect(waiting[1]?.state).toBe('fulfilled')
  })

  it('polls every two seconds, whatever its strategy: it lives by that, and keeps its place', async () => {
    const { clock, one, two } = alone()
    const held = await one.locks.acquire('k')
    const waiting = follow(two.locks.acquire('k', { strategy: { delayMs: () => 60_000 } }), clock)
    await clock.advance(30_000)
    const next = follow(one.locks.acquire('k'), clock)
    await clock.advance(0)
    await held.release()
    await clock.advance(2_000)
    expect(waiting.state).toBe('fulfilled')
    expect(next.state).toBe('pending')
  })
})

/** A notifier that says it keeps places, and how to signal that a waiter has its turn. */
function keeper() {
  const count = new SignalCount()
  const names: string[] = []
  const state = { live: true }
  const notifier: ReleaseNotifier = {
    checks: true,
    recheckMs: 120_000,
    subscribe(_, name) {
      names.push(name)
      return {
        ready: Promise.resolve(),
        get live() {
          return state.live
        },
        get signals() {
          return count.signals
        },
        onSignal: (seen, callback) => count.onSignal(seen, callback),
        suspect: () => undefined,
        close: () => count.forget(),
      }
    },
    waiter(clock, plan) {
      return notifiedWaiter(this, clock, plan)
    },
    onStateChange: () => () => undefined,
    close: async () => undefined,
  }
  return { notifier: offerPlaces({ ...notifier }, notifier), names, state, signal: () => count.add() }
}

describe('a queued waiter whose place somebody keeps', () => {
  it('asks twice however long it waits: to enter, and when it is told of its turn', async () => {
    const kept = keeper()
    const { clock, one, two } = alone(kept.notifier)
    const held = await one.locks.acquire('k', { ttl: '3m' })
    const waiting = follow(two.locks.acquire('k', { wait: '2m' }), clock)
    await clock.advance(60_000)
    const tries = two.store.called('queue.acquire')
    const waiter = tries[0]?.requests[0]?.waiter
    expect(tries.length).toBe(1)
    expect(waiter).toMatchObject({ listens: false, aliveMs: 6_000, windowMs: 6_000 })
    expect(kept.names).toEqual([`${waiter?.inbox}.${waiter?.number}`])
    await held.release()
    kept.signal()
    await clock.advance(0)
    expect([waiting.state, two.store.called('queue.acquire').length]).toEqual(['fulfilled', 2])
  })

  it('looks for itself, at least every two seconds, while nobody does', async () => {
    const kept = keeper()
    kept.state.live = false
    const { clock, one, two } = alone(kept.notifier)
    await one.locks.acquire('k', { ttl: '3m' })
    follow(two.locks.acquire('k', { strategy: { delayMs: () => 60_000 } }), clock)
    await clock.advance(20_000)
    expect(two.store.called('queue.acquire').length).toBeGreaterThanOrEqual(10)
  })
})

describe('a queued waiter whose notifier knows of no inboxes', () => {
  it('is woken by the releases of its key, under its own name, and asks every two seconds all the same', async () => {
    const { clock, process } = queueing()
    const notifier = new ScriptedNotifier()
    Object.assign(notifier, { recheckMs: 30_000 })
    const [one, two] = [process(), process({ notifier })]
    const held = await one.locks.acquire('k', { ttl: '1h' })
    const waiting = two.queue()
    await clock.advance(10_000)
    const asked = two.store.called('queue.acquire')
    expect(asked.length).toBeGreaterThanOrEqual(5)
    const { inbox, number } = asked[0]?.requests[0]?.waiter ?? {}
    expect(notifier.subscriptions).toMatchObject([{ key: 'k', cursor: `${inbox}.${number}` }])
    await clock.advance(300)
    await held.release()
    notifier.signal()
    await clock.advance(50)
    expect(waiting.state).toBe('fulfilled')
  })
})

it('a waiter of the same process that does not queue tries as soon as a queued lease is given back', async () => {
  const { clock, locks } = testLocker({ wait: '1m' })
  const held = await locks.acquire('k', { queue: fifo() })
  const own = follow(locks.acquire('k', { strategy: { delayMs: () => 60_000 } }), clock)
  await clock.advance(100)
  await held.release()
  await clock.advance(0)
  expect(own.state).toBe('fulfilled')
})

describe('where calls share nothing', () => {
  it('each waiter is alone, though there is a notifier', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { clock, process } = queueing()
    const one = process()
    const held = await one.locks.acquire('k')
    const waiting = [one.queue(), one.queue()]
    await clock.advance(100)
    const waiters = one.store.called('queue.acquire').flatMap(({ requests: [request] }) => request?.waiter ?? [])
    expect(waiters.every(({ listens }) => !listens)).toBe(true)
    expect(new Set(waiters.map(({ inbox }) => inbox)).size).toBe(3)
    expect(one.store.called('queue.look')).toEqual([])
    await held.release()
    await clock.advance(2_000)
    expect(waiting.map(({ state }) => state)).toEqual(['fulfilled', 'pending'])
  })

  it('nobody knows what another call holds', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { clock, process } = queueing()
    const one = process()
    await one.locks.acquire('k')
    const gone = one.queue({ wait: '1s' })
    await clock.advance(3_000)
    expect(gone.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', heldHere: false })
  })

  it('each lease renews itself, by a timer of its own that ends with it', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge-runtime')
    const { clock, process } = queueing()
    const one = process()
    const leases = await Promise.all(['a', 'b'].map((key) => one.locks.acquire(key)))
    expect(clock.pending).toBe(2)
    await clock.advance(60_000)
    expect(leases.map(({ signal }) => signal.aborted)).toEqual([false, false])
    for (const lease of leases) await lease.release()
    expect(clock.pending).toBe(0)
  })
})
