import { callUntil, follow, replyAfter, replyLost, requestLost, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Lease } from './lease/lease.ts'
import { createLocker } from './locker.ts'
import { memoryNotifier, memoryStore } from './memory/index.ts'

const { signal: unstopped } = new AbortController()

let { locks, store, clock, eventsOf } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, eventsOf } = testLocker())
})

/** Somebody elsewhere takes the lock. */
const occupy = async (): Promise<void> => {
  await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 3_600_000, fences: 1 }], callUntil(unstopped))
}

/** Whether a lock is held, by asking the store directly. */
async function held(key: string): Promise<boolean> {
  const outcome = await store.inspect(key, callUntil(unstopped))
  return outcome.type === 'state' && outcome.state.held
}

const closed = expect.objectContaining({ code: 'CLOSED' })

describe('a closed locker', () => {
  it('refuses every new call', async () => {
    const bound = locks.for('k')
    await locks.close()
    const calls = [
      () => locks.acquire('k'),
      () => locks.tryAcquire('k'),
      () => locks.withLock('k', () => expect.unreachable()),
      () => locks.inspect('k'),
      () => locks.isLocked('k'),
      () => locks.revoke('k'),
      () => bound.acquire(),
      () => bound.tryAcquire(),
    ]
    for (const call of calls) await expect(call()).rejects.toEqual(closed)
    expect(store.calls).toEqual([])
  })

  it('refuses them as soon as it is being closed', async () => {
    await locks.acquire('k')
    const closing = follow(locks.close(), clock)
    await expect(locks.acquire('other')).rejects.toEqual(closed)
    await clock.advance(10_000)
    expect(closing.state).toBe('fulfilled')
  })

  it('was closed once, however often it was told', async () => {
    const lease = await locks.acquire('k')
    const all = [locks.close({ grace: '1s' }), locks.close({ grace: '1m' }), locks.close()]
    const closing = follow(Promise.all(all), clock)
    await clock.advance(1_000)
    expect(closing.state).toBe('fulfilled')
    await locks.close()
    expect(eventsOf('lost')).toEqual([{ type: 'lost', key: 'k', fence: lease.fence, reason: 'closed' }])
    expect(store.called('release')).toHaveLength(1)
  })

  it('that had nothing to do is closed at once, and sent nothing', async () => {
    await locks.close()
    expect([store.calls.length, clock.pending, clock.monotonicMs()]).toEqual([0, 0, 0])
  })
})

describe('closing', () => {
  it('ends every wait at once', async () => {
    await occupy()
    const waits = [locks.acquire('k'), locks.withLock('k', () => expect.unreachable())].map((it) => follow(it, clock))
    await clock.advance(3_000)
    const closing = follow(locks.close(), clock)
    await clock.advance(0)
    for (const wait of waits) expect(wait).toMatchObject({ state: 'rejected', reason: closed, atMs: 3_000 })
    expect(closing.state).toBe('fulfilled')
    expect(clock.pending).toBe(0)
  })

  it('lets running work go on, and ends when that is done', async () => {
    const working = follow(
      locks.withLock('k', () => new Promise((resolve) => clock.schedule(() => resolve('done'), 3_000))),
      clock,
    )
    await clock.advance(0)
    const closing = follow(locks.close(), clock)
    await clock.advance(2_999)
    expect([closing.state, working.state]).toEqual(['pending', 'pending'])
    await clock.advance(1)
    expect(working.value).toBe('done')
    expect(closing).toMatchObject({ state: 'fulfilled', atMs: 3_000 })
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('goes on renewing what running work holds', async () => {
    const lease = await locks.acquire('k', { ttl: '1s' })
    const closing = follow(locks.close({ grace: '1m' }), clock)
    await clock.advance(50_000)
    expect(lease.remaining()).toBeGreaterThan(500)
    expect(closing.state).toBe('pending')
    await lease.release()
    await clock.advance(0)
    expect(closing.state).toBe('fulfilled')
  })

  it('takes away what is held when the grace is over: the signal fires, and others get the lock', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    const closing = follow(locks.close(), clock)
    await clock.advance(4_999)
    expect([signal.aborted, closing.state]).toEqual([false, 'pending'])
    await clock.advance(1)
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    expect(closing.state).toBe('fulfilled')
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('without grace takes it away at once', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    const closing = follow(locks.close({ grace: 0 }), clock)
    await clock.advance(0)
    expect(signal.reason).toMatchObject({ reason: 'closed' })
    expect(closing).toMatchObject({ state: 'fulfilled', atMs: 0 })
  })

  it('makes work that goes on regardless reject as lost, with its result', async () => {
    const working = follow(
      locks.withLock('k', () => new Promise((resolve) => clock.schedule(() => resolve('too late'), 60_000))),
      clock,
    )
    await clock.advance(0)
    const closing = follow(locks.close({ grace: '1s' }), clock)
    await clock.advance(1_000)
    expect(closing.state).toBe('fulfilled')
    await clock.advance(60_000)
    expect(working.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed', result: 'too late' })
  })

  it('does not wait for the grace when the last lease is lost or released before', async () => {
    const first = await locks.acquire('a')
    const second = await locks.acquire('b', { maxHold: '2s' })
    const closing = follow(locks.close({ grace: '1m' }), clock)
    await clock.advance(1_000)
    await first.release()
    await clock.advance(0)
    expect(closing.state).toBe('pending')
    await clock.advance(1_000)
    expect(second.signal.aborted).toBe(true)
    expect(closing.state).toBe('fulfilled')
  })

  it('lets a lease be given back, and gives the first answer, after all was taken away', async () => {
    const lease = await locks.acquire('k')
    const closing = follow(locks.close({ grace: 0 }), clock)
    await clock.advance(0)
    expect(closing.state).toBe('fulfilled')
    expect(await lease.release()).toBe('released')
    expect(store.called('release')).toHaveLength(1)
  })

  it('is not held up by a store that does not answer', async () => {
    const leases: Lease[] = []
    for (const key of ['a', 'b', 'c']) leases.push(await locks.acquire(key))
    store.always('release', requestLost)
    const closing = follow(locks.close({ grace: 0 }), clock)
    await clock.advance(2_000)
    expect(closing.state).toBe('fulfilled')
    expect(leases.every(({ signal }) => signal.aborted)).toBe(true)
  })

  it('waits for the clean-up of an acquire that was given up before', async () => {
    store.next('acquire', replyLost)
    store.next('release', replyAfter(700))
    const caller = new AbortController()
    follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(100)
    caller.abort()
    await clock.advance(0)
    const closing = follow(locks.close(), clock)
    await clock.advance(699)
    expect(closing.state).toBe('pending')
    await clock.advance(1)
    expect(closing.state).toBe('fulfilled')
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('that meets a grant leaves nothing held, whichever step it comes at', async () => {
    for (let steps = 0; steps < 40; steps++) {
      const closing = createLocker({ store, clock })
      const acquiring = follow(closing.acquire('k'), clock)
      for (let step = 0; step < steps; step++) await Promise.resolve()
      const done = follow(closing.close({ grace: 0 }), clock)
      await clock.advance(10_000)
      expect([acquiring.state === 'pending', done.state], `${steps} steps`).toEqual([false, 'fulfilled'])
      expect(await held('k'), `${steps} steps`).toBe(false)
      expect(clock.pending, `${steps} steps`).toBe(0)
    }
  })

  it('ends the subscriptions of the notifier, after everything else', async () => {
    const real = memoryStore({ clock })
    const notifier = memoryNotifier(real)
    const close = vi.spyOn(notifier, 'close')
    locks = createLocker({ store: new ScriptedStore(clock, real), clock, notifier })
    await locks.acquire('k')
    const closing = follow(locks.close({ grace: '2s' }), clock)
    await clock.advance(1_999)
    expect(close).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(close).toHaveBeenCalledTimes(1)
    expect(closing.state).toBe('fulfilled')
  })

  it('leaves other lockers of the same store alone', async () => {
    const other = createLocker({ store, clock })
    const lease = await other.acquire('other')
    await locks.close()
    await clock.advance(60_000)
    expect(lease.signal.aborted).toBe(false)
    expect(await lease.release()).toBe('released')
  })

  it('waits for the clean-up of the acquires that it ended', async () => {
    store.next('acquire', replyLost)
    store.next('release', replyAfter(700))
    follow(locks.acquire('k'), clock)
    await clock.advance(100)
    const closing = follow(locks.close(), clock)
    await clock.advance(699)
    expect(closing.state).toBe('pending')
    await clock.advance(1)
    expect(closing.state).toBe('fulfilled')
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('is what disposing a locker does, with the default grace', async () => {
    let lease: Lease | undefined
    const use = async (): Promise<void> => {
      await using used = createLocker({ store, clock })
      lease = await used.acquire('k')
    }
    const disposing = follow(use(), clock)
    await clock.advance(4_999)
    expect(disposing.state).toBe('pending')
    expect(lease?.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(disposing.state).toBe('fulfilled')
    expect(lease?.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    expect(await held('k')).toBe(false)
  })

  it('rejects, rather than throws, when its grace is bad', async () => {
    await expect(locks.close({ grace: -1 })).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'grace' })
  })
})
