import { answered, callUntil, follow, replyLost, requestLost, testLocker, unavailable } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { AcquireTimeoutError, StoreUnavailableError } from '../errors.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { poll } from '../timing/backoff.ts'

let { locks, store, clock, events } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, events } = testLocker())
})

/** Somebody elsewhere takes the lock for an hour. */
const occupy = async (key = 'k'): Promise<void> => {
  await store.acquire(
    [{ key, acquisitionId: drawAcquisitionId(), ttlMs: 3_600_000, fences: 1 }],
    callUntil(new AbortController().signal),
  )
  store.calls.length = 0
}

const acquisitionIds = (): (string | undefined)[] =>
  store.called('acquire').map(({ requests }) => requests[0]?.acquisitionId)

describe('an acquire whose store does not answer', () => {
  it('rejects when its wait is over, and says that it may have been carried out', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(4_999)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(acquiring.reason).toMatchObject({ executed: 'unknown' })
  })

  it('gives each attempt half a command deadline', async () => {
    for (const name of ['acquire', 'inspect'] as const) store.always(name, requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(5_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.calls.slice(0, 5).map(({ name, atMs }) => [name, atMs])).toEqual([
      ['acquire', 0],
      ['acquire', 1_000],
      ['inspect', 2_000],
      ['inspect', 3_000],
      ['inspect', 4_000],
    ])
  })

  it.each([
    { ttl: '10s', deadlineMs: 2_000, what: 'the deadline of the store' },
    { ttl: '3s', deadlineMs: 1_000, what: 'a third of the ttl' },
  ] as const)('that does not wait settles within $what ($deadlineMs ms), a retry included', async (row) => {
    const { ttl, deadlineMs } = row
    store.always('acquire', requestLost)
    const calls = [() => locks.acquire('k', { ttl, wait: 0 }), () => locks.tryAcquire('k', { ttl })]
    for (const call of calls) {
      store.calls.length = 0
      const sinceMs = clock.monotonicMs()
      const acquiring = follow<unknown>(call(), clock)
      await clock.advance(deadlineMs - 1)
      expect(acquiring.state).toBe('pending')
      await clock.advance(1)
      expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
      expect(store.called('acquire').map(({ atMs }) => atMs - sinceMs)).toEqual([0, deadlineMs / 2])
    }
  })

  it('settles at its wait although that is shorter than a command deadline', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: 100 }), clock)
    await clock.advance(100)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 100 })
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
  })

  it('carries the client error as its cause, and says if the request was certainly not carried out', async () => {
    const cause = new Error('connect ECONNREFUSED')
    store.always('acquire', unavailable('no', cause))
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(acquiring.reason).toMatchObject({ executed: 'no', cause })
  })

  it('says unknown if any attempt may have been carried out, whatever became of the last', async () => {
    store.always('acquire', unavailable('no'))
    store.next('acquire', unavailable('unknown'))
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  })

  it('is not hammered when it fails at once: the tries are spaced, more and more', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { wait: '30s' }), clock)
    await clock.advance(30_000)
    expect(acquiring.state).toBe('rejected')
    const sent = store.called('acquire').map(({ atMs }) => atMs)
    expect(sent.length).toBeGreaterThan(20)
    expect(sent.length).toBeLessThan(70)
  })

  it('tryAcquire that fails at once settles within one command deadline, in few commands', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.tryAcquire('k'), clock)
    await clock.advance(2_000)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(store.called('acquire').length).toBeLessThan(12)
  })

  it('stops at its budget', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { budget: 2 }), clock)
    await clock.advance(10_000)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_000 })
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(store.called('acquire')).toHaveLength(2)
  })

  it('is not told as a lock that is held, though it was when the store last answered', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    store.always('acquire', requestLost)
    await clock.advance(10_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(acquiring.atMs).toBeCloseTo(10_000, 1)
  })

  it('is no evidence of anything when only the end of the wait cut the attempt short', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { wait: '900ms', strategy: poll({ every: '200ms' }) }), clock)
    await clock.advance(0)
    store.always('acquire', requestLost)
    await clock.advance(900)
    expect(store.called('acquire')).toHaveLength(2)
    expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
  })

  it('that refuses at the end is told as unavailable, with its reason', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { wait: '3s' }), clock)
    await clock.advance(0)
    const full = new Error('OOM')
    store.always('acquire', unavailable('no', full))
    await clock.advance(3_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no', cause: full })
  })

  it('and answers again before the end is told as it then is', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { wait: '6s' }), clock)
    await clock.advance(0)
    store.always('acquire', requestLost)
    store.always('inspect', requestLost)
    await clock.advance(4_000)
    store.always('acquire', answered)
    store.always('inspect', answered)
    await clock.advance(2_000)
    expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
  })
})

describe('an attempt without an answer', () => {
  it('is repeated with the same acquisition id, and the repeat finds its own lease', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    const mintedAtMs = clock.wallMs()
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value).toMatchObject({ commands: 2, fence: mintedAtMs * 1_000 })
    expect(new Set(acquisitionIds()).size).toBe(1)
    expect(events.map(({ type }) => type)).toEqual(['acquired'])
  })

  it('does not date the lease: the answered repeat does, and the store keeps it as long', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { renew: false }), clock)
    await clock.advance(1_000)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102)
    await clock.advance(10_000 - 102 - 1)
    expect(acquiring.value?.remaining()).toBe(1)
    expect(await locks.isLocked('k')).toBe(true)
  })

  it('is repeated also when no waiting was asked for', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.tryAcquire('k'), clock)
    await clock.advance(1_000)
    expect(acquiring.value).toMatchObject({ commands: 2 })
  })

  it('whose grant came and went unseen is spent: the next try has a new acquisition id and a higher fence', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(500)
    const unseen = await locks.inspect('k')
    await locks.revoke('k')
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
    const [first, repeat, anew] = acquisitionIds()
    expect(repeat).toBe(first)
    expect(anew).not.toBe(first)
    expect(acquiring.value?.commands).toBe(3)
    expect(acquiring.value?.fence).toBeGreaterThan((unseen.held && unseen.fence) || Number.POSITIVE_INFINITY)
  })
})
