import { expect, test } from 'vitest'
import type { Hold } from './orders.ts'
import { verdictOn } from './verdict.ts'

const hold = (enteredMs: number, leftMs: number, fence: number, isLost = false): Hold => ({
  ...{ enteredNs: enteredMs * 1e6, leftNs: leftMs * 1e6, fence, waitedMs: enteredMs, isLost },
})

test.each([
  ['one after the other', [hold(1, 2, 1), hold(3, 4, 2), hold(2, 3, 1.5)], { kept: true, overlaps: 0 }],
  ['nobody at all', [], { kept: false, holds: 0 }],
  ['two at once', [hold(1, 4, 1), hold(3, 6, 2)], { kept: false, overlaps: 1, longestOverlapMs: 1 }],
  [
    'one within another',
    [hold(1, 9, 1), hold(2, 3, 2), hold(4, 5, 3)],
    { kept: false, overlaps: 2, longestOverlapMs: 1 },
  ],
  ['a fence that does not rise', [hold(1, 2, 5), hold(3, 4, 5)], { kept: false, overlaps: 0, fencesOutOfOrder: 1 }],
  ['a loss that its holder learned of in time', [hold(1, 3, 1, true), hold(4, 6, 2)], { kept: true, lost: 1 }],
])('judges %s', (_, holds, verdict) => {
  expect(verdictOn(holds)).toMatchObject(verdict)
})
