import {
  callUntil,
  type Fate,
  follow,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker } from '../locker.ts'
import { poll } from '../timing/backoff.ts'

/** For a lease with the default ttl, at a store with a command deadline of 2 s. */
const commandDeadlineMs = 2_000

let caller: AbortController
let { locks, store, clock } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock } = testLocker())
  caller = new AbortController()
})

const releasedAtMs = (): number[] => store.called('release').map(({ atMs }) => atMs)

/** Whether the lock is free, by asking the store directly. */
const free = async (): Promise<boolean> => {
  const outcome = await store.inspect('k', callUntil(new AbortController().signal))
  return outcome.type === 'state' && !outcome.state.held
}

describe('an acquire that was given up while it may have been granted', () => {
  it('is undone at once, by its acquisition id', async () => {
    store.always('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    expect(await free()).toBe(false)
    caller.abort()
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 200 })
    const acquisitionId = store.called('acquire')[0]?.requests[0]?.acquisitionId
    expect(store.called('release')).toMatchObject([{ atMs: 200, requests: [{ key: 'k', acquisitionId }] }])
    expect(await free()).toBe(true)
  })

  it('is undone when its wait was over, too', async () => {
    store.always('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('rejected')
    expect(releasedAtMs()).toEqual([1_000])
    expect(await free()).toBe(true)
  })

  it('is undone once if the release found it', async () => {
    store.always('acquire', replyLost)
    follow(locks.tryAcquire('k'), clock)
    await clock.advance(120_000)
    expect(releasedAtMs()).toEqual([commandDeadlineMs])
    expect(clock.pending).toBe(0)
  })

  it('is undone again one command deadline later if the release found nothing, and then no more', async () => {
    store.always('acquire', requestLost)
    follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort()
    await clock.advance(120_000)
    expect(releasedAtMs()).toEqual([200, 200 + commandDeadlineMs])
    expect(clock.pending).toBe(0)
  })

  it('and whose request reaches the store after the first release is undone by the second', async () => {
    const late: Fate = async (sending) => {
      await requestAfter(1_500)(sending)
      return requestLost(sending)
    }
    store.next('acquire', late)
    follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort()
    await clock.advance(1_300)
    expect(await free()).toBe(false)
    await clock.advance(700)
    expect(await free()).toBe(true)
    expect(releasedAtMs()).toEqual([200, 200 + commandDeadlineMs])
  })

  it('is undone also if the first releases stay unanswered or fail', async () => {
    store.always('acquire', replyLost)
    store.next('release', requestLost, unavailable('no'), unavailable('no'))
    follow(locks.tryAcquire('k'), clock)
    await clock.advance(commandDeadlineMs)
    expect(await free()).toBe(false)
    await clock.advance(1_200)
    expect(await free()).toBe(true)
  })

  it('gives up on undoing when the store stays silent, and leaves nothing behind', async () => {
    store.always('acquire', replyLost)
    store.always('release', requestLost)
    follow(locks.tryAcquire('k'), clock)
    await clock.advance(60_000)
    // Two releases of two attempts each: at once, and one command deadline after that.
    expect(releasedAtMs()).toEqual([2_000, 3_000, 6_000, 7_000])
    expect(clock.pending).toBe(0)
  })
})

describe('a grant that comes after its caller has gone', () => {
  it('is released when it comes, and others are granted long before its ttl is over', async () => {
    store.next('acquire', replyAfter(800))
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort('gone')
    await clock.advance(100)
    expect(acquiring).toMatchObject({ state: 'rejected', reason: 'gone', atMs: 200 })
    const other = follow(createLocker({ store, clock }).acquire('k', { wait: '5s' }), clock)
    await clock.advance(1_200)
    expect(other.state).toBe('fulfilled')
  })

  it('however late: also after both releases found nothing', async () => {
    store.next('acquire', requestAfter(9_000))
    follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort()
    await clock.advance(8_799)
    expect(releasedAtMs()).toEqual([200, 2_200])
    await clock.advance(1)
    expect(releasedAtMs()).toEqual([200, 2_200, 9_000])
    expect(await free()).toBe(true)
  })

  it('is never renewed', async () => {
    store.next('acquire', requestAfter(1_500))
    store.always('release', requestLost)
    follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort()
    await clock.advance(60_000)
    expect(store.called('renew')).toEqual([])
    expect(await free()).toBe(true)
  })

  it('of an attempt that timed out is undone as well', async () => {
    store.next('acquire', requestAfter(2_500))
    store.always('acquire', requestLost)
    const trying = follow(locks.tryAcquire('k'), clock)
    await clock.advance(2_499)
    expect(trying.state).toBe('rejected')
    await clock.advance(1)
    expect(await free()).toBe(true)
    expect(store.called('renew')).toEqual([])
  })
})

describe('nothing is undone', () => {
  it('of an acquire that the caller got, although an attempt before it was unanswered and answers later', async () => {
    store.next('acquire', replyAfter(1_500))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
    await clock.advance(30_000)
    expect(store.called('release')).toEqual([])
    expect(acquiring.value?.remaining()).toBeGreaterThan(0)
  })

  it('of attempts that were certainly not carried out', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.called('release')).toEqual([])
  })

  it('of an unanswered attempt after which a refusal came from whoever holds the lock, until the caller gives up', async () => {
    store.next('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '5s', strategy: poll({ every: '1s' }) }), clock)
    await clock.advance(100)
    await store.acquire(
      [{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }],
      callUntil(new AbortController().signal),
    )
    await clock.advance(4_800)
    expect(store.called('release')).toEqual([])
    await clock.advance(100)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    expect(releasedAtMs()).toHaveLength(1)
    expect(await free()).toBe(false)
  })
})

describe('an abort that meets the answer', () => {
  it('leaves either a lease with its caller or a free lock, whichever step it comes at', async () => {
    for (let steps = 0; steps < 40; steps++) {
      const stop = new AbortController()
      const acquiring = follow(locks.acquire('k', { signal: stop.signal }), clock)
      for (let step = 0; step < steps; step++) await Promise.resolve()
      stop.abort('stop')
      await clock.advance(0)
      if (acquiring.state === 'rejected') {
        expect(acquiring.reason).toBe('stop')
        await clock.advance(3 * commandDeadlineMs)
        expect(await free(), `${steps} steps`).toBe(true)
      } else {
        expect(acquiring.state).toBe('fulfilled')
        expect(await acquiring.value?.release(), `${steps} steps`).toBe('released')
      }
      expect(clock.pending).toBe(0)
    }
  })
})
