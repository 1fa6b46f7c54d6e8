import { follow, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'

let { locks, clock, elsewhere, events } = testLocker()
beforeEach(() => {
  ;({ locks, clock, elsewhere, events } = testLocker())
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

describe('an acquire that failed', () => {
  it('by a mistake of the caller is no event', async () => {
    await elsewhere.acquire('k')
    const mistaken = follow(locks.acquire('k', { strategy: { delayMs: () => Number.NaN } }), clock)
    await clock.advance(0)
    expect(mistaken.reason).toMatchObject({ code: 'INVALID_OPTION' })
    expect(events.map(({ type }) => type)).not.toContain('acquire-failed')
  })
})
