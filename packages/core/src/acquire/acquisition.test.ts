import { callUntil, follow, refusing, replyAfter, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { AcquireTimeoutError, LeaseholdError } from '../errors.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { poll } from '../timing/backoff.ts'

let { locks, store, clock, events, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, events, elsewhere } = testLocker())
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

describe('an acquire of a free lock', () => {
  it('is granted by one command', async () => {
    const lease = await locks.acquire('k')
    expect(lease).toMatchObject({ key: 'k', commands: 1, waitedMs: 0, fence: clock.wallMs() * 1_000 })
    expect(store.calls).toMatchObject([{ name: 'acquire', requests: [{ key: 'k', ttlMs: 10_000 }] }])
    expect(lease.token).toBe(`${acquisitionIds()[0]}.${lease.fence}`)
  })

  it('draws a new acquisition id each time', async () => {
    for (const _ of [1, 2, 3]) await (await locks.acquire('k')).release()
    expect(new Set(acquisitionIds()).size).toBe(3)
  })

  it('gives each holder a higher fence than all before', async () => {
    const fences: (number | null)[] = []
    for (const ms of [0, 0, 5, 0]) {
      const lease = await locks.acquire('k')
      fences.push(lease.fence)
      await lease.release()
      await clock.advance(ms)
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => Number(a) - Number(b)))
  })

  it('is trusted from the sending of its request, not from the answer', async () => {
    store.next('acquire', replyAfter(900))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(900)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102 - 900)
    expect(acquiring.value?.waitedMs).toBe(900)
  })
})

describe('an acquire of a held lock', () => {
  beforeEach(() => occupy())

  it('that does not wait is answered null, by one command and at once', async () => {
    expect(await locks.tryAcquire('k')).toBeNull()
    expect(store.called('acquire')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('with wait 0 rejects at once, after one command', async () => {
    const refusal = await locks.acquire('k', { wait: 0 }).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(AcquireTimeoutError)
    expect(refusal).toMatchObject({ key: 'k', waitedMs: 0, commands: 1 })
    expect(store.calls).toHaveLength(1)
  })

  it('rejects when its wait is over, not sooner or later, and tells its figures', async () => {
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(4_999)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
    const { waitedMs, commands } = acquiring.reason as AcquireTimeoutError
    expect(waitedMs).toBeCloseTo(5_000, 1)
    expect(commands).toBe(store.called('acquire').length)
    expect(clock.pending).toBe(0)
  })

  it('is told once as contended', async () => {
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    expect(acquiring.state).toBe('rejected')
    expect(events.filter(({ type }) => type === 'contended')).toEqual([{ type: 'contended', key: 'k' }])
  })

  it('keeps its acquisition id through all its tries', async () => {
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    expect(acquiring.state).toBe('rejected')
    expect(acquisitionIds().length).toBeGreaterThan(5)
    expect(new Set(acquisitionIds()).size).toBe(1)
  })

  it('sends no release for tries that were all refused', async () => {
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.called('release')).toEqual([])
  })

  it('uses no more commands than its budget, and gives up as soon as that is spent', async () => {
    for (const budget of [1, 2, 5]) {
      store.calls.length = 0
      const acquiring = follow(locks.acquire('k', { budget }), clock)
      await clock.advance(9_999)
      expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
      expect(acquiring.reason).toMatchObject({ commands: budget })
      expect(store.calls).toHaveLength(budget)
    }
  })

  it('of another key is not affected', async () => {
    expect((await locks.acquire('other')).commands).toBe(1)
  })
})

describe('an acquire that waits longer than its ttl', () => {
  it('is granted when the holder is done, with the ttl it asked for', async () => {
    const holder = await elsewhere.acquire('k')
    const acquiring = follow(locks.acquire('k', { ttl: '1s', wait: '10s', strategy: poll() }), clock)
    await clock.advance(4_000)
    expect(acquiring.state).toBe('pending')
    await holder.release()
    await clock.advance(80)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.remaining()).toBeGreaterThan(900)
    expect(acquiring.value?.remaining()).toBeLessThanOrEqual(1_000 - 12)
    expect(acquiring.value?.waitedMs).toBeGreaterThanOrEqual(4_000)
  })
})

describe('a grant that leaves too little time', () => {
  const options = { ttl: '1s', minValidity: 900 } as const

  it('is given back, and the next try has a new acquisition id', async () => {
    store.next('acquire', replyAfter(100))
    const acquiring = follow(locks.acquire('k', options), clock)
    await clock.advance(100)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value).toMatchObject({ commands: 2 })
    const [late, used] = acquisitionIds()
    expect(used).not.toBe(late)
    expect(store.called('release')).toMatchObject([{ requests: [{ key: 'k', acquisitionId: late }] }])
    await acquiring.value?.release()
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('is measured by both clocks: a machine that was suspended meanwhile gets no stale lease', async () => {
    store.next('acquire', replyAfter(10))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(5)
    clock.freeze(9_000)
    await clock.advance(5)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102)
    expect(acquiring.value?.commands).toBe(2)
  })

  it('is enough if it leaves exactly as much as was asked for', async () => {
    store.next('acquire', replyAfter(88))
    const acquiring = follow(locks.acquire('k', options), clock)
    await clock.advance(88)
    expect(acquiring.value?.remaining()).toBe(900)
    expect(acquiring.value?.commands).toBe(1)
  })
})

describe('an acquire that the store refuses for good', () => {
  it('rejects at once with the error of the store, after one command', async () => {
    const error = new LeaseholdError('KIND_MISMATCH', 'The key holds something that is not a lock')
    store.always('acquire', refusing(error))
    const its = expect.objectContaining({ code: 'KIND_MISMATCH', message: error.message, key: 'k' })
    await expect(locks.acquire('k')).rejects.toThrow(its)
    await expect(locks.tryAcquire('k')).rejects.toThrow(its)
    expect(store.called('acquire')).toHaveLength(2)
    expect(store.called('release')).toHaveLength(0)
    expect(clock.pending).toBe(0)
  })
})
