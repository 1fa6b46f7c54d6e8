import { follow, replyLost, requestLost, testLocker } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AcquireOptions } from '../index.ts'
import { type Shared, sharedOf } from '../key-locker.ts'
import { callSettings, planFor } from '../options.ts'
import { acquireAll, type LeaseSet, tryAcquireAll } from './index.ts'
import { lineFor } from './set-line.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock, events } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
})
afterEach(() => {
  vi.unstubAllGlobals()
})

const pair = ['x', 'y']
/** A call, followed while the clock moves. */
const called = (options: AcquireOptions = {}, keys = pair) =>
  follow(acquireAll(locks, keys, { wait: '1h', ...options }), clock)

describe('calls of one process for the same set', () => {
  it('get it in order of arrival, each with one command, however their keys are ordered', async () => {
    const order: number[] = []
    const work = async (at: number): Promise<void> => {
      const set = await acquireAll(locks, at % 2 ? pair : pair.toReversed(), { wait: '1h' })
      order.push(at)
      clock.schedule(() => void set.release(), 5)
    }
    const all = Promise.all(Array.from({ length: 20 }, (_, at) => work(at)))
    await clock.advance(20 * 5)
    await all
    expect(order).toEqual(Array.from({ length: 20 }, (_, at) => at))
    expect(store.called('acquireAll')).toHaveLength(20)
    expect(events.filter(({ type }) => type === 'contended')).toHaveLength(19)
    await clock.advance(5)
    expect(clock.pending).toBe(0)
  })

  it('pass their turn on when they end in vain, are aborted, or lose the set', async () => {
    const other = await elsewhere.acquire('y')
    const abort = new AbortController()
    const first = called({ wait: '1s' })
    const second = called({ signal: abort.signal })
    const third = called({ renew: false, ttl: '10s' })
    const fourth = called()
    await clock.advance(1_100)
    expect(first.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'y', heldHere: false })
    abort.abort('enough')
    await clock.advance(0)
    expect(second).toMatchObject({ state: 'rejected', reason: 'enough' })
    await other.release()
    await clock.advance(1_000)
    expect([third.state, fourth.state]).toEqual(['fulfilled', 'pending'])
    // It is not renewed, so it expires.
    await clock.advance(12_000)
    expect(fourth.state).toBe('fulfilled')
  })

  it('leave the line when their signal is aborted, or their time is over, and say who has the set', async () => {
    const abort = new AbortController()
    const set = await acquireAll(locks, pair, { wait: '1h' })
    const aborted = called({ signal: abort.signal })
    const late = called({ wait: '2s' })
    const next = called()
    await clock.advance(1_000)
    abort.abort('enough')
    await clock.advance(1_000)
    expect(aborted).toMatchObject({ state: 'rejected', reason: 'enough', atMs: 1_000 })
    expect(late).toMatchObject({ state: 'rejected', atMs: 2_000 })
    expect(late.reason).toMatchObject({
      code: 'ACQUIRE_TIMEOUT',
      key: 'x',
      heldHere: true,
      holder: 'here',
      commands: 0,
    })
    await set.release()
    await clock.advance(0)
    expect(next.state).toBe('fulfilled')
  })

  it('say what the one in front has found: another holder, or a store that does not answer', async () => {
    await elsewhere.acquire('y')
    void called()
    const contended = called({ wait: '2s' })
    await clock.advance(2_000)
    expect(contended.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'y', heldHere: false, commands: 0 })
    const silent = called({ wait: '8s' })
    store.always('acquireAll', requestLost)
    store.always('inspect', requestLost)
    await clock.advance(8_000)
    expect(silent.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
  })

  it('end at once when the locker is closed', async () => {
    await acquireAll(locks, pair, { wait: '1h' })
    const waiting = called()
    await clock.advance(0)
    const closing = follow(locks.close({ grace: 0 }), clock)
    await clock.advance(0)
    expect(waiting.reason).toMatchObject({ code: 'CLOSED' })
    expect(closing.state).toBe('fulfilled')
  })

  it('do not wait for one that allows itself more time, or needs less validity', async () => {
    await elsewhere.acquire('y', { ttl: '1h', renew: false })
    store.calls.length = 0
    const kinds: AcquireOptions[] = [{}, { ttl: '1m' }, { minValidity: '9s' }]
    for (const options of kinds) void called(options)
    await clock.advance(0)
    expect(store.called('acquireAll')).toHaveLength(3)
  })

  it('do not hold up a try, nor another set', async () => {
    const first = (await acquireAll(locks, pair, { wait: '1h' })) as LeaseSet
    void called()
    expect(await tryAcquireAll(locks, pair)).toBeNull()
    const other = await acquireAll(locks, ['z', 'w'])
    await Promise.all([first.release(), other.release()])
  })

  it('do not stand in line on Workers', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    const [first, second] = [called(), called()]
    await clock.advance(0)
    expect([first.state, second.state]).toEqual(['fulfilled', 'pending'])
    expect(store.called('acquireAll')).toHaveLength(2)
    await first.value?.release()
    await clock.advance(2_000)
    expect(second.state).toBe('fulfilled')
  })

  it('leave nothing behind', async () => {
    const shared = sharedOf(locks) as Shared
    const line = () => lineFor(shared, pair, planFor('x', callSettings({ wait: '1h' })()))
    const before = line()
    const [first, second] = [called(), called()]
    await clock.advance(0)
    expect(line()).toBe(before)
    await first.value?.release()
    await clock.advance(0)
    await second.value?.release()
    expect(line()).not.toBe(before)
  })

  it('are not stopped by an answer that one of them never gets', async () => {
    store.next('acquireAll', replyLost)
    const [first, second] = [called(), called()]
    await clock.advance(5_000)
    expect([first.state, second.state]).toEqual(['fulfilled', 'pending'])
    await first.value?.release()
    await clock.advance(0)
    expect(second.state).toBe('fulfilled')
  })
})
