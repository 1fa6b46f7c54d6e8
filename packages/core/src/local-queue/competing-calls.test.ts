import { answered, follow, requestLost, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import type { WaitStrategy } from '../timing/backoff.ts'

let { locks, store, clock, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere } = testLocker())
})

const each = (ms: number): WaitStrategy => ({ delayMs: () => ms })

describe('calls of one process that compete for a key', () => {
  it('are told each what their own tries have found', async () => {
    await elsewhere.acquire('k', { ttl: '1h' })
    const rare = follow(locks.acquire('k', { wait: '3s', strategy: each(1_000_000) }), clock)
    await clock.advance(10)
    const often = follow(locks.acquire('k', { wait: '10s', strategy: each(50) }), clock)
    await clock.advance(1_000)
    store.always('acquire', requestLost)
    await clock.advance(20_000)
    // The call that checks rarely was answered to the end: somebody has the lock. The other has met the outage.
    expect(rare.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', heldHere: false })
    expect(often.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('a call that waits behind a holder of its own process', () => {
  it('is told that the lock was held, although a silence came before the holder was answered', async () => {
    const stop = new AbortController()
    store.next('acquire', requestLost, answered, requestLost)
    const silenced = follow(locks.acquire('k', { wait: '20s', signal: stop.signal }), clock)
    await clock.advance(0)
    const lease = await locks.tryAcquire('k')
    await clock.advance(1_100)
    stop.abort('left')
    await clock.advance(0)
    expect(silenced.state).toBe('rejected')

    const waiting = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(900)
    store.always('acquire', requestLost)
    // A caller that has read the token gives the lease back to the store, not to the next in line.
    expect(lease?.token).toBeDefined()
    await lease?.release()
    await clock.advance(200)
    expect(waiting.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  })
})
