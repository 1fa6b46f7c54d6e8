import { follow, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker } from './locker.ts'

let { locks, store, clock, elsewhere, events } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere, events } = testLocker())
})

describe('a call that finds its own locker holding the key', () => {
  it.each([0, 50])('says so, with a wait of %i ms', async (wait) => {
    await locks.acquire('k')
    const late = follow(locks.acquire('k', { wait }), clock)
    await clock.advance(wait)
    expect(late.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', heldHere: true })
    expect((late.reason as Error).message).toContain('held by this locker itself')
  })
})

describe('a call that times out', () => {
  it('says who holds the lock, by the name of that locker', async () => {
    const jobs = createLocker({ store, clock, name: 'jobs-1' })
    await jobs.acquire('k')
    const late = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(late.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', holder: 'jobs-1', heldHere: false })
    expect((late.reason as Error).message).toMatch(/^Lock "k" is held by "jobs-1" after 1000 ms and \d+ commands;/)
  })

  it('names its own locker to a call that waited behind a holder of its process', async () => {
    const named = testLocker({ name: 'jobs-2' })
    await named.locks.acquire('k')
    const behind = follow(named.locks.acquire('k', { wait: '1s' }), named.clock)
    await named.clock.advance(1_000)
    expect(behind.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', holder: 'jobs-2', heldHere: true })
  })
})

describe('an acquire that failed', () => {
  it('by a mistake of the caller is no event', async () => {
    await elsewhere.acquire('k')
    const mistaken = follow(locks.acquire('k', { strategy: { delayMs: () => Number.NaN } }), clock)
    await clock.advance(0)
    expect(mistaken.reason).toMatchObject({ code: 'INVALID_OPTION' })
    expect(events.map(({ type }) => type)).not.toContain('acquire-failed')
  })
})
