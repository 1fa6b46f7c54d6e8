import { expect, test } from 'vitest'
import { pollTimeMs } from './poll-time.ts'

test('a long poll ends up to a tenth early, at random, so that polls that began together do not come back together', () => {
  expect([0, 0.5, 1].map((random) => pollTimeMs(25_000, random))).toEqual([25_000, 23_800, 22_500])
})

test('there are few different times, so that the timers of thousands of polls are kept together', () => {
  const times = new Set(Array.from({ length: 1_000 }, (_, draw) => pollTimeMs(25_000, draw / 1_000)))
  expect(times.size).toBeLessThanOrEqual(26)
  expect(pollTimeMs(10_001, 0)).toBe(10_001)
})

test('a short one takes its time', () => {
  expect(pollTimeMs(9_999, 1)).toBe(9_999)
})
