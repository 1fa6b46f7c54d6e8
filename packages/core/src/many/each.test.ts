import { follow, replyLost, requestLost, testLocker } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseholdError } from '../errors.ts'
import { acquireAll, releaseAll, tryAcquireEach } from './index.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock, events } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
})
afterEach(() => {
  vi.unstubAllGlobals()
})

async function settled<T>(promise: Promise<T>): Promise<T> {
  const call = follow(promise, clock)
  for (let passedMs = 0; call.state === 'pending' && passedMs < 20_000; passedMs += 10) await clock.advance(10)
  return promise
}
const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`)
const names = (): string[] => store.calls.map(({ name }) => name)
const told = (): string[] => events.map(({ type }) => type)

describe('trying each of several', () => {
  it('answers the leases of those that were free, with one command, however many they are', async () => {
    await elsewhere.acquire('k7')
    store.inNextWrite = (send) => send()
    store.calls.length = 0
    const free = await tryAcquireEach(locks, [...keys(100), 'k3'])
    expect(names()).toEqual(['acquire'])
    expect([...free.keys()].toSorted()).toEqual(
      keys(100)
        .filter((key) => key !== 'k7')
        .toSorted(),
    )
    for (const [key, { fence }] of free) expect(await elsewhere.inspect(key)).toMatchObject({ holder: 'here', fence })
    store.calls.length = 0
    const results = await releaseAll(free.values())
    expect(results).toEqual(Array(99).fill('released'))
    expect(names()).toEqual(['release'])
    expect(clock.timers.filter(({ background }) => !background)).toEqual([])
  })

  it('leaves each lease to itself: renewed, lost and released as any other', async () => {
    const free = await tryAcquireEach(locks, ['a', 'b'], { ttl: '3s' })
    await elsewhere.revoke('a')
    await clock.advance(10_000)
    expect(free.get('a')?.signal.reason).toMatchObject({ reason: 'gone' })
    free.get('b')?.assertValid()
    expect(await free.get('b')?.release()).toBe('released')
  })

  it('has one command on Workers, too, and one for each renewal', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    const free = await tryAcquireEach(locks, keys(10), { ttl: '3s' })
    await clock.advance(1_200)
    expect(names()).toEqual(['acquire', 'renew'])
    expect(store.called('renew')[0]?.requests).toHaveLength(10)
    await releaseAll(free.values())
    expect(names()).toEqual(['acquire', 'renew', 'release'])
    expect(clock.pending).toBe(0)
  })

  it('repeats what stays unanswered, and finds its own locks', async () => {
    store.next('acquire', replyLost)
    const free = await settled(tryAcquireEach(locks, ['a', 'b']))
    expect([...free.keys()]).toEqual(['a', 'b'])
    expect(names()).toEqual(['acquire', 'acquire'])
  })

  it('rejects when one of them gets no answer, and gives back what was taken', async () => {
    store.always('acquire', async (sending) => {
      const outcomes = await sending.execute()
      return outcomes.map((outcome, at) =>
        sending.requests[at]?.key === 'b' ? { type: 'unknown', executed: 'unknown' } : outcome,
      )
    })
    const call = follow(tryAcquireEach(locks, ['a', 'b'], { ttl: '3s' }), clock)
    await clock.advance(4_000)
    expect(call.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', key: 'b', executed: 'unknown' })
    expect([await elsewhere.isLocked('a'), await elsewhere.isLocked('b')]).toEqual([false, false])
    expect(told()).toEqual(['acquire-failed'])
  })

  it('rejects when one of them is no lock, by its name', async () => {
    const error = new LeaseholdError('KIND_MISMATCH', 'no lock')
    store.next('acquire', async (sending) => [(await sending.execute())[0] as never, { type: 'refused', error }])
    const refused = { code: 'KIND_MISMATCH', key: 'b', message: 'Lock "b": no lock' }
    await expect(settled(tryAcquireEach(locks, ['a', 'b']))).rejects.toMatchObject(refused)
    await clock.advance(0)
    expect(await elsewhere.isLocked('a')).toBe(false)
  })

  it('of none is none', async () => {
    expect(await tryAcquireEach(locks, [])).toEqual(new Map())
    expect(await releaseAll([])).toEqual([])
    expect(store.calls).toEqual([])
  })

  it('that its caller aborts leaves nothing behind', async () => {
    const abort = new AbortController()
    store.next('acquire', requestLost)
    const call = follow(tryAcquireEach(locks, ['a', 'b'], { signal: abort.signal }), clock)
    await clock.advance(10)
    abort.abort('enough')
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'rejected', reason: 'enough' })
    await clock.advance(5_000)
    expect(await elsewhere.isLocked('a')).toBe(false)
  })
})

describe('releasing all', () => {
  it('answers for each how it ended, whichever call and locker it came from', async () => {
    const single = await locks.acquire('single')
    const set = await acquireAll(locks, ['a', 'b'])
    const other = await elsewhere.acquire('other')
    const gone = await locks.acquire('gone')
    const lost = await locks.acquire('lost')
    await elsewhere.revoke('gone')
    await elsewhere.revoke('lost')
    await elsewhere.acquire('lost')
    store.calls.length = 0
    const results = await releaseAll([single, ...set.leases.values(), other, gone, lost])
    expect(results).toEqual(['released', 'released', 'released', 'released', 'expired', 'expired'])
    expect(names()).toEqual(['release'])
    expect(await elsewhere.isLocked('lost')).toBe(true)
    expect(await releaseAll([single])).toEqual(['released'])
  })

  it('takes a set, in its order', async () => {
    const set = await acquireAll(locks, ['b', 'a'])
    await elsewhere.revoke('a')
    expect(await releaseAll(set)).toEqual(['expired', 'released'])
  })

  it('hands a lease off to who waits for it in this process', async () => {
    const lease = await locks.acquire('k')
    const waiting = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    store.calls.length = 0
    expect(await releaseAll([lease])).toEqual(['released'])
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
    expect(store.calls).toEqual([])
  })

  it('gives a lease of another kind back in its own way', async () => {
    const other = { key: 'k', release: async () => 'superseded' } as never
    expect(await releaseAll([other, await locks.acquire('a')])).toEqual(['superseded', 'released'])
  })

  it('refuses what is no lease, and then releases nothing', async () => {
    const lease = await locks.acquire('k')
    await expect(releaseAll([lease, null as never])).rejects.toMatchObject({ option: 'leases' })
    await expect(releaseAll(5 as never)).rejects.toMatchObject({ option: 'leases' })
    lease.assertValid()
  })
})
