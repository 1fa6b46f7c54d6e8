import { expect, test } from 'vitest'
import { pollTimeMs } from './poll-time.ts'

test('a long poll ends up to a tenth sooner, so that those that began together do not come back together', () => {
  expect([0, 0.5, 1].map((random) => pollTimeMs(25_000, random))).toEqual([25_000, 23_750, 22_500])
})

test('a short one takes its time', () => {
  expect(pollTimeMs(9_999, 1)).toBe(9_999)
})
