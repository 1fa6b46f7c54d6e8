import {
  follow,
  ManualClock,
  replyAfter,
  replyLost,
  requestLost,
  ScriptedNotifier,
  ScriptedStore,
  testLocker,
} from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLocker } from '../index.ts'
import { releaseAll } from '../many/index.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { fifo } from '../queue/index.ts'
import { holdAtLeast } from './index.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock, events } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
})

afterEach(() => {
  vi.unstubAllGlobals()
})

const names = (): string[] => store.calls.map(({ name }) => name)

describe('a lock that is held for a time at least', () => {
  it('stays taken for the rest of it, counted from the acquire, and needs nothing of this process', async () => {
    const lease = await holdAtLeast(locks, '2s').acquire('job')
    await clock.advance(5)
    expect(await lease.release()).toBe('released')
    expect(names()).toEqual(['acquire', 'releaseAfter'])
    expect(clock.pending).toBe(0)
    expect(await elsewhere.inspect('job')).toMatchObject({ held: true, holder: 'here', expiresInMs: 1_995 })
    await clock.advance(1_994)
    expect(await elsewhere.tryAcquire('job')).toBeNull()
    await clock.advance(1)
    expect(await elsewhere.tryAcquire('job')).not.toBeNull()
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('is free at once after a longer time, as any other', async () => {
    const lease = await holdAtLeast(locks, '2s').acquire('job', { ttl: '3s' })
    await clock.advance(20_000)
    expect(await lease.release()).toBe('released')
    expect(names().at(-1)).toBe('release')
    expect(await elsewhere.isLocked('job')).toBe(false)
  })

  it('has a ttl of that time at least, so that it is kept though its process dies', async () => {
    await holdAtLeast(locks, '1m').acquire('long', { renew: false })
    await holdAtLeast(locks, '1s').acquire('short', { ttl: '5s', renew: false })
    expect(store.called('acquire').map(({ requests }) => requests[0]?.ttlMs)).toEqual([60_000, 5_000])
  })

  it('stands in no queue, though its locker has one by default', async () => {
    const queueing = createLocker({ store, clock, queue: fifo() })
    expect(await (await holdAtLeast(queueing, '2s').acquire('job')).release()).toBe('released')
    expect(names()).toEqual(['acquire', 'releaseAfter'])
  })

  it('is null for a try while it is kept, and runs work as `withLock` does', async () => {
    const once = holdAtLeast(locks, '2s')
    expect(await once.withLock('job', () => 'done')).toBe('done')
    expect(await once.tryAcquire('job')).toBeNull()
    await expect(once.withLock('job', { wait: 0 }, () => 'done')).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    const failing = once.withLock('other', { ttl: '5s' }, () => {
      throw new Error('mine')
    })
    await expect(failing).rejects.toThrow('mine')
    expect(await elsewhere.isLocked('other')).toBe(true)
    await clock.advance(2_000)
    expect(await once.tryAcquire('job')).not.toBeNull()
  })

  it('is kept when it is released with others, and with the end of a block', async () => {
    const lease = await holdAtLeast(locks, '2s').acquire('a')
    const plain = await locks.acquire('b')
    expect(await releaseAll([lease, plain])).toEqual(['released', 'released'])
    {
      await using other = await holdAtLeast(locks, '2s').acquire('c')
      other.assertValid()
    }
    expect(await Promise.all(['a', 'b', 'c'].map((key) => elsewhere.isLocked(key)))).toEqual([true, false, true])
  })

  it('is kept on Workers, too', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    await (await holdAtLeast(locks, '2s').acquire('job')).release()
    expect(await elsewhere.isLocked('job')).toBe(true)

    // A grant that came too late is still being undone when the caller gets another.
    store.next('acquire', replyAfter(900), replyAfter(900))
    store.next('release', replyLost)
    const call = follow(holdAtLeast(locks, '2s').acquire('late', { ttl: '3s', minValidity: '2500ms' }), clock)
    await clock.advance(3_000)
    expect(call.state).toBe('fulfilled')
    expect(store.called('release').length).toBeGreaterThan(1)
    call.value?.assertValid()
    expect(await elsewhere.inspect('late')).toMatchObject({ fence: call.value?.fence })
  })

  it('is not free sooner because the answer to its acquire took long', async () => {
    store.next('acquire', replyAfter(800))
    const call = follow(holdAtLeast(locks, '2s').acquire('job'), clock)
    await clock.advance(800)
    await call.value?.release()
    expect(await elsewhere.inspect('job')).toMatchObject({ expiresInMs: 2_000 })
  })

  it('is given back when its caller never had it', async () => {
    const abort = new AbortController()
    store.next('acquire', replyAfter(100))
    const call = follow(holdAtLeast(locks, '1m').acquire('job', { signal: abort.signal }), clock)
    await clock.advance(50)
    abort.abort('enough')
    await clock.advance(5_000)
    expect(call).toMatchObject({ state: 'rejected', reason: 'enough' })
    expect(await elsewhere.isLocked('job')).toBe(false)
  })

  it('says what became of a release that was answered late, never, or by another', async () => {
    const once = holdAtLeast(locks, '2s')
    const late = await once.acquire('late')
    store.next('releaseAfter', replyLost)
    const releasing = follow(late.release(), clock)
    await clock.advance(1_500)
    expect(releasing.value).toBe('released')
    expect((await elsewhere.inspect('late')) as object).toMatchObject({ expiresInMs: 500 })

    const revoked = await once.acquire('revoked')
    await elsewhere.revoke('revoked')
    expect(await revoked.release()).toBe('expired')
    expect(await elsewhere.isLocked('revoked')).toBe(false)

    const never = await once.acquire('never')
    store.always('releaseAfter', requestLost)
    store.always('release', requestLost)
    const unanswered = follow(never.release(), clock)
    await clock.advance(5_000)
    expect(unanswered.value).toBe('unknown')
  })

  it('is taken away by the close of its locker, and kept', async () => {
    const lease = await holdAtLeast(locks, '1m').acquire('job')
    const closing = follow(locks.close({ grace: '1s' }), clock)
    await clock.advance(1_000)
    expect(closing.state).toBe('fulfilled')
    expect(lease.signal.reason).toMatchObject({ reason: 'closed' })
    expect(await elsewhere.inspect('job')).toMatchObject({ expiresInMs: 59_000 })
  })
})

describe('those who wait for it', () => {
  it('are not handed it in this process, and get it when its time is over, whoever wakes them', async () => {
    for (const wakes of ['polling', 'a notifier', 'a notifier that hears nothing'] as const) {
      const clock = new ManualClock()
      const memory = memoryStore({ clock })
      const store = new ScriptedStore(clock, memory)
      const notifier = { polling: undefined, 'a notifier': memoryNotifier(memory) }[wakes as 'polling']
      const silent = wakes === 'a notifier that hears nothing' ? new ScriptedNotifier() : notifier
      const locks = createLocker({ store, clock, notifier: silent })
      const elsewhere = createLocker({ store, clock, notifier: silent })
      const lease = await holdAtLeast(locks, '5s').acquire('job', { ttl: '1m' })
      const here = follow(locks.acquire('job', { wait: '1h', ttl: '1m' }), clock)
      const there = follow(
        elsewhere.acquire('job', { wait: '1h' }).then((taken) => taken.release()),
        clock,
      )
      await clock.advance(500)
      await lease.release()
      await clock.advance(4_499)
      expect([here.state, there.state], wakes).toEqual(['pending', 'pending'])
      await clock.advance(1_300)
      expect([here.state, there.state], wakes).toContain('fulfilled')
      const firstAtMs = Math.min(here.atMs ?? Infinity, there.atMs ?? Infinity)
      expect(firstAtMs, wakes).toBeLessThan(5_100)
      await here.value?.release()
      for (const locker of [locks, elsewhere]) {
        const closing = follow(locker.close({ grace: 0 }), clock)
        await clock.advance(3_000)
        expect(closing.state).toBe('fulfilled')
      }
    }
  })

  it('ask a few times at most while it is kept', async () => {
    const clock = new ManualClock()
    const memory = memoryStore({ clock })
    const store = new ScriptedStore(clock, memory)
    const notifier = memoryNotifier(memory)
    const [locks, elsewhere] = [createLocker({ store, clock, notifier }), createLocker({ store, clock, notifier })]
    const lease = await holdAtLeast(locks, '5s').acquire('job', { ttl: '1m' })
    const there = follow(elsewhere.acquire('job', { wait: '1h', recheck: '1h' }), clock)
    await clock.advance(500)
    store.calls.length = 0
    await lease.release()
    await clock.advance(4_600)
    expect(there.state).toBe('fulfilled')
    // Once when notified of the new expiry, and once after it.
    expect(store.called('acquire')).toHaveLength(2)
  })
})

describe('what is refused by name', () => {
  it.each([
    ['locks', () => holdAtLeast({} as never, '1s')],
    [
      'locks',
      () => holdAtLeast(createLocker({ store: { commandDeadlineMs: 1_000, acquire: async () => [] } as never }), '1s'),
    ],
    ['atLeast', () => holdAtLeast(locks, 0)],
    ['ttl', () => holdAtLeast(locks, '1s').acquire('k', { ttl: -1 })],
    ['wait', () => holdAtLeast(locks, '1s').tryAcquire('k', { wait: 5 } as never)],
    ['queue', () => holdAtLeast(locks, '1s').acquire('k', { queue: fifo() } as never)],
    ['work', () => holdAtLeast(locks, '1s').withLock('k', 5 as never)],
  ])('%s', async (option, call) => {
    await expect((async () => call())()).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
  })
})
