import { ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { ClientLimits } from './client-limits.ts'
import { KeyRate } from './key-rate.ts'
import type { ProblemError } from './problem.ts'

const most = { perClient: 1_000, total: 10_000, perKey: 1_000, keysPerSecond: 2_000 }

let clock: ManualClock
beforeEach(() => {
  clock = new ManualClock()
})

const keysOf = (count: number, name = 'k'): string[] => Array.from({ length: count }, (_, index) => `${name}${index}`)

/** Returns the function that gives the places back, or after how many seconds to come back. */
function take(limits: ClientLimits, client: string, keys: readonly string[]): (() => void) | number {
  try {
    return limits.take(client, keys)
  } catch (error) {
    expect(error).toMatchObject({ status: 429 })
    return (error as ProblemError).retryAfter ?? 1
  }
}

const taken = (what: (() => void) | number): what is () => void => typeof what === 'function'

describe('places', () => {
  test('for one key are so many of each client, whatever else it asks about, and come back', () => {
    const limits = new ClientLimits({ ...most, perKey: 2 }, clock)
    const leave = take(limits, 'a', ['x', 'y'])
    expect(taken(take(limits, 'a', ['x']))).toBe(true)
    expect(take(limits, 'a', ['y', 'x'])).toBe(1)
    expect(taken(take(limits, 'a', ['y']))).toBe(true)
    expect(taken(take(limits, 'b', ['x', 'y']))).toBe(true)
    if (taken(leave)) leave()
    expect(taken(take(limits, 'a', ['x']))).toBe(true)
    expect(take(limits, 'a', ['x'])).toBe(1)
  })

  test('that were refused cost nothing', () => {
    const limits = new ClientLimits({ ...most, perClient: 1, keysPerSecond: 20 }, clock)
    const leave = take(limits, 'a', ['x'])
    for (let tries = 0; tries < 1_000; tries++) expect(take(limits, 'a', keysOf(50))).toBe(1)
    if (taken(leave)) leave()
    expect(taken(take(limits, 'a', keysOf(50)))).toBe(true)
  })
})

describe('the rate', () => {
  test('a thousand processes with one token that come back at once are all let in', () => {
    const limits = new ClientLimits(most, clock)
    for (let process = 0; process < 1_000; process++) {
      expect(taken(take(limits, 'token', keysOf(5, `p${process}-`)))).toBe(true)
    }
  })

  test('with 20 keys each they are let in within 12 s, when each comes back as it was told', async () => {
    const limits = new ClientLimits(most, clock)
    let waiting = keysOf(1_000, 'p').map((name) => ({ name, atMs: 0 }))
    while (waiting.length > 0) {
      const nowMs = clock.monotonicMs()
      expect(nowMs).toBeLessThan(12_000)
      waiting = waiting.flatMap(({ name, atMs }) => {
        if (atMs > nowMs) return [{ name, atMs }]
        const answer = take(limits, 'token', keysOf(20, name))
        return taken(answer) ? [] : [{ name, atMs: nowMs + answer * 1_000 }]
      })
      await clock.advance(100)
    }
  })

  test('is so many keys a second in the long run, of each client for itself', async () => {
    const limits = new ClientLimits(most, clock)
    let keys = 0
    for (let ms = 0; ms < 60_000; ms += 10) {
      const answer = take(limits, 'greedy', keysOf(50, String(ms)))
      if (taken(answer)) {
        keys += 50
        answer()
      }
      const other = take(limits, 'modest', keysOf(10))
      expect(taken(other)).toBe(true)
      if (taken(other)) other()
      await clock.advance(10)
    }
    expect(keys).toBeGreaterThanOrEqual(60 * 2_000)
    expect(keys).toBeLessThan(60 * 2_000 + 5_000 + 100)
  })

  test('says when there is something left again, and is right', async () => {
    const limits = new ClientLimits({ ...most, keysPerSecond: 10 }, clock)
    expect(taken(take(limits, 'a', keysOf(50)))).toBe(true)
    const seconds = take(limits, 'a', ['x'])
    expect(seconds).toBe(3)
    await clock.advance(3_000)
    expect(taken(take(limits, 'a', ['x']))).toBe(true)
  })

  test('a stream of many keys is let in as soon as a poll is, so that polls cannot keep it out', async () => {
    const limits = new ClientLimits({ ...most, keysPerSecond: 100 }, clock)
    for (let polls = 0; polls < 250; polls++) take(limits, 'a', ['x'])
    expect(take(limits, 'a', keysOf(50))).toBe(1)
    await clock.advance(11)
    expect(taken(take(limits, 'a', keysOf(50)))).toBe(true)
  })

  test('is remembered of those clients only that asked a moment ago', async () => {
    const rate = new KeyRate(100, clock)
    let most = 0
    for (let client = 0; client < 10_000; client++) {
      expect(rate.take(`client ${client}`, 50)).toBeUndefined()
      most = Math.max(most, rate.size)
      await clock.advance(10)
    }
    // Two generations of 3 s, with one client per 10 ms.
    expect(most).toBeLessThan(700)
  })

  test('is forgotten of no client that has spent what it has', async () => {
    const rate = new KeyRate(100, clock)
    let keys = 0
    for (let ms = 0; ms < 60_000; ms += 100) {
      if (rate.take('greedy', 50) === undefined) keys += 50
      rate.take(`client ${ms}`, 1)
      await clock.advance(100)
    }
    expect(keys).toBeLessThanOrEqual(60 * 100 + 250 + 50)
  })
})
