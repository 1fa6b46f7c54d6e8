import { callUntil, type Fate, ManualClock, ScriptedStore } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type Locker } from '../locker.ts'
import type { Clock } from '../timing/clock.ts'
import { driftMs, type Instant, instant } from '../timing/validity.ts'

/*
 * On Workers the clock stands still between I/O, and no timer fires meanwhile: what docs/guarantees.md says of that.
 */

/** The server's clock. */
let world: ManualClock
let store: ScriptedStore
/** The time that the Worker reads: as of the last answer. */
let seen: Instant
let locks: Locker

const ttlMs = 1_000
const { signal } = new AbortController()

beforeEach(() => {
  world = new ManualClock()
  store = new ScriptedStore(world)
  seen = instant(world)
  const moving: Fate = async ({ execute }) => {
    const outcomes = await execute()
    seen = instant(world)
    return outcomes
  }
  for (const name of ['acquire', 'renew', 'inspect'] as const) store.always(name, moving)
  const clock: Clock = {
    monotonicMs: () => seen.monotonicMs,
    wallMs: () => seen.wallMs,
    // Nothing here waits for a timer.
    schedule: () => () => undefined,
  }
  locks = createLocker({ store, clock, ttl: ttlMs, renew: false, minValidity: 1 })
})

/** Lets time pass without I/O. */
const compute = (ms: number): Promise<void> => world.advance(ms)

describe('with a clock that moves only with I/O', () => {
  it.each([
    ['gone', false],
    ['superseded', true],
  ])('a long computation is not seen by the lease, and the first question tells: %s', async (reason, taken) => {
    const lease = await locks.acquire('k')
    const beforeMs = lease.remaining()
    await compute(5_000)
    const asOfLastAnswer = seen
    if (taken) await store.acquire([{ key: 'k', acquisitionId: 'other', ttlMs, fences: 1 }], callUntil(signal))
    // That answer was somebody else's.
    seen = asOfLastAnswer
    expect([lease.remaining(), lease.signal.aborted]).toEqual([beforeMs, false])
    lease.assertValid()

    await expect(lease.renew({ ttl: ttlMs })).rejects.toMatchObject({ code: 'LEASE_LOST', reason })
    expect([lease.remaining(), lease.signal.aborted]).toEqual([0, true])
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST', reason }))
  })

  it('any I/O moves it: then the lease knows by itself that its time is over', async () => {
    const lease = await locks.acquire('k')
    await compute(5_000)
    expect(await locks.isLocked('other')).toBe(false)
    expect(lease.remaining()).toBe(0)
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ reason: 'expired' }))
  })

  it('what is granted or renewed after a computation is trusted for less, never for more', async () => {
    await locks.acquire('other')
    await compute(400)
    const lease = await locks.acquire('k')
    expect(lease.remaining()).toBe(ttlMs - driftMs(ttlMs) - 400)
    await compute(300)
    await lease.renew({ ttl: ttlMs })
    expect(lease.remaining()).toBe(ttlMs - driftMs(ttlMs) - 300)
  })
})
