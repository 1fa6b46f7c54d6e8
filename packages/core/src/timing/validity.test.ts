import { ManualClock } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { driftMs, elapsedMs, instant, remainingMs } from './validity.ts'

describe('validity', () => {
  it('allows for drift: 1 % of the ttl and 2 ms', () => {
    expect([100, 1_000, 10_000].map(driftMs)).toEqual([3, 12, 102])
  })

  it('counts from the moment before the request was sent', async () => {
    const clock = new ManualClock()
    const sentAt = instant(clock)
    await clock.advance(800)
    expect(remainingMs(instant(clock), { sentAt, ttlMs: 10_000 })).toBe(10_000 - 102 - 800)
  })

  it('is over, not merely small, once its time has passed', async () => {
    const clock = new ManualClock()
    const validity = { sentAt: instant(clock), ttlMs: 1_000 }
    await clock.advance(988)
    expect(remainingMs(instant(clock), validity)).toBe(0)
    await clock.advance(1)
    expect(remainingMs(instant(clock), validity)).toBe(-1)
  })

  it('a monotonic clock that stood still while the machine was suspended does not prolong it', () => {
    const clock = new ManualClock()
    const sentAt = instant(clock)
    clock.freeze(4_000)
    expect(elapsedMs(instant(clock), sentAt)).toBe(4_000)
    expect(remainingMs(instant(clock), { sentAt, ttlMs: 10_000 })).toBe(10_000 - 102 - 4_000)
  })

  it('a wall clock that is set back does not prolong it', async () => {
    const clock = new ManualClock()
    const sentAt = instant(clock)
    await clock.advance(300)
    clock.stepWall(-3_600_000)
    await clock.advance(200)
    expect(elapsedMs(instant(clock), sentAt)).toBe(500)
  })

  it('a wall clock that is set forward shortens it: better too short than too long', async () => {
    const clock = new ManualClock()
    const sentAt = instant(clock)
    await clock.advance(300)
    clock.stepWall(5_000)
    expect(elapsedMs(instant(clock), sentAt)).toBe(5_300)
  })

  it('is never more than either clock alone would say, whatever happens to them', async () => {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    const random = randomFrom(seed)
    const clock = new ManualClock()
    const sentAt = instant(clock)
    const ttlMs = 600_000
    for (let step = 0; step < 500; step++) {
      const ms = Math.trunc(random() * 1_000)
      const what = Math.trunc(random() * 4)
      if (what === 0) await clock.advance(ms)
      else if (what === 1) clock.freeze(ms)
      else if (what === 2) clock.block(ms)
      else clock.stepWall(ms * 2 - 1_000)
      const left = remainingMs(instant(clock), { sentAt, ttlMs })
      const byMonotonic = ttlMs - driftMs(ttlMs) - (clock.monotonicMs() - sentAt.monotonicMs)
      const byWall = ttlMs - driftMs(ttlMs) - (clock.wallMs() - sentAt.wallMs)
      expect(left, `seed ${seed}, step ${step}`).toBe(Math.min(byMonotonic, byWall))
    }
  })
})

/** Park and Miller's minimal generator: the same seed gives the same numbers, at least 0 and below 1. */
function randomFrom(seed: number): () => number {
  let state = (seed % (2 ** 31 - 2)) + 1
  return () => {
    state = (state * 48_271) % (2 ** 31 - 1)
    return (state - 1) / (2 ** 31 - 2)
  }
}
