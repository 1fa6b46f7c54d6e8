import { callUntil, follow, requestLost, testLocker, unavailable } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { drawAcquisitionId } from '../store/token.ts'

let { locks, store, clock } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock } = testLocker())
})

/** Somebody elsewhere takes the lock for an hour. */
const occupy = async (key = 'k'): Promise<void> => {
  await store.acquire(
    [{ key, acquisitionId: drawAcquisitionId(), ttlMs: 3_600_000, fences: 1 }],
    callUntil(new AbortController().signal),
  )
  store.calls.length = 0
}

describe('an acquire that is aborted', () => {
  const reason = { any: 'reason of the caller' }
  let caller: AbortController

  beforeEach(() => {
    caller = new AbortController()
  })

  it('beforehand rejects with the reason itself, and sends nothing', async () => {
    caller.abort(reason)
    const { signal } = caller
    await expect(locks.acquire('k', { signal })).rejects.toBe(reason)
    await expect(locks.tryAcquire('k', { signal })).rejects.toBe(reason)
    await expect(locks.withLock('k', { signal }, () => expect.unreachable())).rejects.toBe(reason)
    expect(store.calls).toEqual([])
  })

  it('during an attempt rejects with the reason itself, at once', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 200 })
    expect(acquiring.reason).toBe(reason)
  })

  it('between two tries rejects with the reason itself, at once', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(2_345)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_345 })
    expect(acquiring.reason).toBe(reason)
    expect(clock.pending).toBe(0)
    const sent = store.calls.length
    await clock.advance(60_000)
    expect(store.calls).toHaveLength(sent)
  })

  it('between two attempts that failed at once rejects with the reason itself, at once', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(5)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 5 })
    expect(acquiring.reason).toBe(reason)
    expect(clock.pending).toBe(0)
  })

  it.each([null, 0, '', 'text', new Error('own')])('rejects with whatever the reason is: %j', async (own) => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(10)
    caller.abort(own)
    await clock.advance(0)
    expect(acquiring.state).toBe('rejected')
    expect(acquiring.reason).toBe(own)
  })

  it('without a reason rejects with the AbortError of the platform', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(10)
    caller.abort()
    await clock.advance(0)
    expect(acquiring.reason).toBe(caller.signal.reason)
    expect(acquiring.reason).toMatchObject({ name: 'AbortError' })
  })

  it('after it was granted keeps its lease: the signal ends waits only', async () => {
    const lease = await locks.acquire('k', { signal: caller.signal })
    caller.abort(reason)
    await clock.advance(30_000)
    expect(lease.remaining()).toBeGreaterThan(0)
    expect(lease.signal.aborted).toBe(false)
  })
})
